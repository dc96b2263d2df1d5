"""Folders that appear whole: written under a temporary name, flushed to the disk, then renamed."""

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from c2s import errors


@contextlib.contextmanager
def whole(folder: Path) -> Iterator[Path]:
    """Give a temporary folder to fill; on a clean exit it becomes `folder`, on an error it leaves nothing."""
    part = folder.with_name(folder.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    try:
        yield part
        for file in part.iterdir():
            flush(file)
        flush(part)
        part.replace(folder)  # refuses a folder that holds anything: a published one never changes
        flush(folder.parent)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise


@contextlib.contextmanager
def reserved(folder: Path) -> Iterator[None]:
    """Keep other processes out of a folder; one that is taken is `InvalidConfig`."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # goes with the process, however that ends
        except BlockingIOError as exc:
            raise errors.InvalidConfig(f"{folder.name}: another process is at work in this folder") from exc
        yield


def write_json(path: Path, value: object) -> None:
    """Write plain data; numbers that JSON does not know (NaN, infinities) are refused."""
    path.write_text(json.dumps(value, indent=1, allow_nan=False) + "\n", encoding="utf-8")


def read_json(path: Path) -> Any:
    """Read what `write_json` wrote."""
    return json.loads(path.read_text(encoding="utf-8"))


def digest(path: Path) -> str:
    """The sha256 of a file, read in bounded memory."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sums(folder: Path) -> dict[str, str]:
    """The sha256 of every file of a folder, by its name."""
    return {file.name: digest(file) for file in sorted(folder.iterdir())}


def flush(path: Path) -> None:
    """Bring a file, or the names in a folder, to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
