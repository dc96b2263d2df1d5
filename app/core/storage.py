"""Where bytes are kept: a folder with names of our own making; the only place that builds paths.

tmp/<random>                     uploads on their way
datasets/<id>/source             the file as it came, until it is read
datasets/<id>/data/              the canonical dataset
jobs/<id>/<attempt>/run/         what the attempt wrote; run/model/ is what may be published
jobs/<id>/<attempt>/log.txt      what its process said
"""

import contextlib
import errno
import fcntl
import hashlib
import os
import secrets
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from app.core import errors, ids

CHUNK = 2**20
SKIPPED = ("lock",)  # of a run folder: belongs to the process that made it


@dataclass(frozen=True)
class Uploaded:
    path: Path
    bytes: int
    sha256: str


class Upload:
    """A file on its way in: counted, hashed, and gone unless it is kept."""

    def __init__(self, path: Path, file: BinaryIO, limit: int) -> None:
        self.path, self._file, self._limit = path, file, limit
        self._hash, self.bytes = hashlib.sha256(), 0

    def write(self, chunk: bytes) -> None:
        """Add a piece; too many of them are refused as soon as they are seen."""
        self.bytes += len(chunk)
        if self.bytes > self._limit:
            raise errors.TooLarge(f"a file may have at most {self._limit} bytes")
        self._hash.update(chunk)
        with full_disk():
            self._file.write(chunk)

    def finish(self) -> Uploaded:
        """Flush it to the disk."""
        with full_disk():
            self._file.flush()
            os.fsync(self._file.fileno())
        return Uploaded(self.path, self.bytes, self._hash.hexdigest())


class Store:
    """The folder store."""

    def __init__(self, root: Path, *, min_free: int = 0) -> None:
        self.root = root
        self._min_free = min_free
        for name in ("tmp", "datasets", "jobs"):
            (root / name).mkdir(parents=True, exist_ok=True, mode=0o700)

    @contextlib.contextmanager
    def upload(self, *, limit: int) -> Iterator[Upload]:
        """Take a file in; what is not moved away by the end is deleted."""
        self.check_space()
        path = self.root / "tmp" / secrets.token_hex(16)
        try:
            with path.open("xb") as file:
                fcntl.flock(file, fcntl.LOCK_EX)  # says that somebody is at work, for as long as they live
                yield Upload(path, file, limit)
        finally:
            path.unlink(missing_ok=True)

    def sweep(self) -> None:
        """Delete uploads whose process died."""
        for path in (self.root / "tmp").iterdir():
            with contextlib.suppress(FileNotFoundError, BlockingIOError), path.open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink()

    def check_space(self) -> None:
        """Refuse new bytes while the last of the disk is left: deleting needs some too."""
        free = shutil.disk_usage(self.root).free
        if free < self._min_free:
            raise errors.StoreFull(f"{free} bytes are free, {self._min_free} are kept for running jobs")

    def source(self, dataset_id: str) -> Path:
        """The uploaded file of a dataset."""
        return self._dataset(dataset_id) / "source"

    def dataset(self, dataset_id: str) -> Path:
        """The canonical dataset."""
        return self._dataset(dataset_id) / "data"

    def attempt(self, job_id: str, fence: int) -> Path:
        """The folder of one attempt at a job."""
        return self._job(job_id) / str(int(fence))

    def attempts(self, job_id: str) -> list[int]:
        """The attempts that left a folder, oldest first."""
        folder = self._job(job_id)
        return sorted(int(path.name) for path in folder.iterdir()) if folder.is_dir() else []

    def key(self, path: Path) -> str:
        """The name of a folder inside the store, as rows keep it."""
        return path.relative_to(self.root).as_posix()

    def at(self, key: str) -> Path:
        """The folder of a key that `key` gave."""
        return self.root / key

    def resume(self, job_id: str, fence: int) -> Path:
        """The run folder of a new attempt, with all that the latest attempt before it finished."""
        run = self.attempt(job_id, fence) / "run"
        for earlier in reversed(self.attempts(job_id)):
            before = self.attempt(job_id, earlier) / "run"
            if earlier < fence and (before / "run" / "run.json").exists():
                part = run.with_name(
                    "run.part"
                )  # a copy that was interrupted must not pass for the latest attempt
                with full_disk():
                    _link(before, part)
                    part.replace(run)
                break
        run.mkdir(parents=True, exist_ok=True)
        return run

    def remove_dataset(self, dataset_id: str) -> None:
        """Delete a dataset's bytes."""
        shutil.rmtree(self._dataset(dataset_id), ignore_errors=True)

    def remove_job(self, job_id: str) -> None:
        """Delete all that a job wrote."""
        shutil.rmtree(self._job(job_id), ignore_errors=True)

    def prune_job(self, job_id: str, *, keep: int | None) -> None:
        """Leave of an ended job the model and the log of the attempt that counts."""
        for fence in self.attempts(job_id):
            folder = self.attempt(job_id, fence)
            if fence != keep:
                shutil.rmtree(folder, ignore_errors=True)
                continue
            for path in (folder / "run").glob("*"):
                if path.name != "model":
                    shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)

    def discard(self, path: Path) -> None:
        """Delete litter that lies inside the store."""
        if not path.resolve().is_relative_to(self.root.resolve()):
            raise ValueError("only what lies in the store can be discarded")
        shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)

    def _dataset(self, dataset_id: str) -> Path:
        if not ids.valid("ds", dataset_id):
            raise errors.NotFound(f"there is no dataset {dataset_id!r}")
        return self.root / "datasets" / dataset_id

    def _job(self, job_id: str) -> Path:
        if not ids.valid("job", job_id):
            raise errors.NotFound(f"there is no job {job_id!r}")
        return self.root / "jobs" / job_id


def _link(before: Path, after: Path) -> None:
    """Take over what is finished: such files never change, so both attempts may name the same bytes."""
    for path in sorted(before.rglob("*")):
        part = path.relative_to(before)
        if part.name in SKIPPED or any(piece.endswith(".part") for piece in part.parts) or path.is_dir():
            continue
        (after / part).parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):  # the earlier attempt lives after all, and tidied up
            os.link(path, after / part)


@contextlib.contextmanager
def full_disk() -> Iterator[None]:
    """A full disk is an answer, not a failure."""
    try:
        yield
    except OSError as exc:
        if exc.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise errors.StoreFull("the disk is full") from exc
        raise
