"""Copies on this host of folders that a bucket keeps: verified before use, and bounded in size.

The least recently used go first. Several processes share them: a folder is complete when its list is there, is filled
aside and renamed, and what is dropped is renamed away first, so nobody meets half of one.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import secrets
import shutil
import time
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import IO, Any

from app.core import errors
from c2s import folders

SKIPPED = ("lock",)  # of a run folder: belongs to the process that made it
LIST = "files.json"  # of a folder, written last: its files with their sizes and hashes
YOUNG_SECONDS = 600.0  # what was opened so recently may not have been loaded yet
ASIDE_SECONDS = 86400.0  # after which what lies aside belongs to a process that died
Files = dict[str, dict[str, Any]]


class Copies:
    """The folders below `root`, of which `datasets/*` and `jobs/*` are dropped when there are too many bytes."""

    def __init__(self, root: Path, *, most_bytes: int) -> None:
        self._root, self._most = root, most_bytes
        self._aside = root / "aside"
        self._aside.mkdir(exist_ok=True, mode=0o700)
        self._sound: dict[Path, list[tuple[str, int, int]]] = {}

    @contextlib.contextmanager
    def aside(self) -> Iterator[Path]:
        """A new name to fill; what is not moved away by the end is deleted."""
        path = self._aside / secrets.token_hex(16)
        try:
            yield path
        finally:
            delete(path)

    def use(self, folder: Path) -> bool:
        """Whether the folder is here and sound; if so it stays for as long as it takes to load it."""
        with self._locked(fcntl.LOCK_SH), contextlib.suppress(FileNotFoundError):
            os.utime(self._unit(folder))
        try:
            files = listed((folder / LIST).read_bytes())
            marks = _marks(folder, files)
            if self._sound.get(folder) != marks:
                if any(folders.digest(folder / name) != fact["sha256"] for name, fact in files.items()):
                    return False
                self._sound[folder] = marks
        except (OSError, errors.Damaged):
            return False
        return True

    @contextlib.contextmanager
    def alone(self, folder: Path) -> Iterator[None]:
        """Let one at a time bring a folder here.

        Who waits finds it afterwards: a second copy in its place would take it from under those who have opened it.
        """
        lock = self._aside / hashlib.sha256(str(folder).encode()).hexdigest()
        held = False
        while not held:
            with lock.open("a") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                held = _is(file, lock)  # or it was deleted by whoever had it
                if held:
                    try:
                        yield
                    finally:
                        lock.unlink(missing_ok=True)

    def place(self, filled: Path, folder: Path) -> None:
        """Move a complete folder or file to where it belongs, in the place of what may be there."""
        folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with self._locked(fcntl.LOCK_EX), self.aside() as old:
            with contextlib.suppress(FileNotFoundError):
                folder.rename(old)
            filled.rename(folder)
            os.utime(self._unit(folder))
        self.drop()

    def drop(self) -> None:
        """Delete what was used longest ago until the rest fits; what is in use stays."""
        for path in self._aside.iterdir():
            if _age(path) > ASIDE_SECONDS:
                delete(path)
        units = [unit for name in ("datasets", "jobs") for unit in (self._root / name).iterdir()]
        sizes = {unit: size(unit) for unit in units}
        total = sum(sizes.values())
        for unit in sorted(units, key=_age, reverse=True):
            if total <= self._most:
                return
            with self._locked(fcntl.LOCK_EX), self.aside() as away:
                if _age(unit) < YOUNG_SECONDS or _busy(unit):
                    continue
                with contextlib.suppress(FileNotFoundError):
                    unit.rename(away)
            total -= sizes[unit]

    def _unit(self, folder: Path) -> Path:
        return self._root.joinpath(*folder.relative_to(self._root).parts[:2])

    @contextlib.contextmanager
    def _locked(self, how: int) -> Iterator[None]:
        with (self._root / "copies.lock").open("a") as file:
            fcntl.flock(file, how)
            yield


def survey(folder: Path) -> Files:
    """The files of a folder with their sizes and hashes."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != LIST)
    return {
        path.relative_to(folder).as_posix(): {"bytes": path.stat().st_size, "sha256": folders.digest(path)}
        for path in paths
    }


def listing(files: Mapping[str, Mapping[str, Any]]) -> bytes:
    """Files as a list keeps them."""
    return json.dumps({"files": files}, indent=1, sort_keys=True).encode()


def listed(content: bytes) -> Files:
    """The files of a list; names that lead elsewhere are refused."""
    try:
        files: Files = json.loads(content)["files"]
        for name, fact in files.items():
            parts = PurePosixPath(name).parts
            if not parts or name.startswith("/") or ".." in parts or len(fact["sha256"]) != 64:
                raise ValueError(name)
    except (ValueError, KeyError, TypeError, AttributeError) as exc:
        raise errors.Damaged("a list of files cannot be read") from exc
    return files


def size(path: Path) -> int:
    """The bytes of a file or folder; others may delete it meanwhile."""
    total = 0
    for file in [path] if path.is_file() else path.rglob("*"):
        with contextlib.suppress(FileNotFoundError):
            total += file.lstat().st_size if file.is_file() else 0
    return total


def delete(path: Path) -> None:
    """Delete a file or folder, if it is there."""
    shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)


def link(before: Path, after: Path) -> None:
    """Take over what is finished: such files never change, so both attempts may name the same bytes."""
    for path in sorted(before.rglob("*")):
        part = path.relative_to(before)
        if part.name in SKIPPED or any(piece.endswith(".part") for piece in part.parts) or path.is_dir():
            continue
        (after / part).parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):  # the earlier attempt lives after all, and tidied up
            os.link(path, after / part)


def _marks(folder: Path, files: Files) -> list[tuple[str, int, int]]:
    """What changes when a file does."""
    stats = [(name, (folder / name).stat()) for name in sorted(files)]
    return [(name, stat.st_size, stat.st_mtime_ns) for name, stat in stats]


def _is(file: IO[str], path: Path) -> bool:
    """Whether an open file is the one of that name."""
    with contextlib.suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    return False


def _age(path: Path) -> float:
    with contextlib.suppress(FileNotFoundError):
        return time.time() - path.lstat().st_mtime
    return 0.0


def _busy(unit: Path) -> bool:
    """Whether a training works in one of the attempts."""
    for lock in unit.glob("*/run/lock"):
        try:
            with lock.open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except FileNotFoundError:
            continue
    return False
