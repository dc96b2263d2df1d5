"""Where bytes are kept: a folder with names of our own making; the only place that builds paths.

`Store` is the vocabulary of the service and, where all its processes share a disk, all there is to it.
`app.core.stores` has the one that keeps the same keys in a bucket, with a folder like this one before it.

tmp/<random>                     uploads on their way
datasets/<id>/source             the file as it came, until it is read
jobs/<id>/0/source               a file of rows to predict, until they are
datasets/<id>/data/              the canonical dataset
jobs/<id>/<attempt>/run/         what the attempt wrote; run/model/ and run/result/ may be published
jobs/<id>/<attempt>/log.txt      what its process said
"""

import contextlib
import fcntl
import os
import secrets
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from app.core import copies, errors, ids
from app.core.incoming import Upload, Uploaded, full_disk
from c2s import folders

Outcome = Literal["model", "result"]
OUTCOMES = get_args(Outcome)  # of a run folder: what rows publish
PREDICTIONS = "predictions.parquet"  # of a result folder


@dataclass(frozen=True)
class Piece:
    """Something that rows should name: a dataset, an attempt at a job, or what lies where nothing should."""

    key: str
    modified: float


class Store:
    """The folder store: what is in its place is safe, and open to everybody."""

    remote = False  # whether bytes must travel before another host can see them

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
            with full_disk(), path.open("xb") as file:
                fcntl.flock(file, fcntl.LOCK_EX)  # says that somebody is at work, for as long as they live
                yield Upload(path, file, limit)
        finally:
            path.unlink(missing_ok=True)

    def prepare(self) -> None:
        """Make what a first start needs."""

    def close(self) -> None:
        """Let connections go."""

    def check(self) -> None:
        """Whether bytes can be written now; `Unavailable` if not."""
        if not os.access(self.root / "tmp", os.W_OK | os.X_OK):
            raise errors.Unavailable("the store cannot be written")

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

    def source(self, owner: str) -> Path:
        """Where the uploaded file of a dataset, or of a job that predicts its rows, lies or will."""
        return (self.attempt(owner, 0) if ids.valid("job", owner) else self._dataset(owner)) / "source"

    def dataset(self, dataset_id: str) -> Path:
        """Where the canonical dataset lies, or will."""
        return self._dataset(dataset_id) / "data"

    def keep_source(self, dataset_id: str, uploaded: Uploaded) -> None:
        """Put an upload where a worker will find it."""
        source = self.source(dataset_id)
        source.parent.mkdir(parents=True)
        uploaded.path.replace(source)
        for folder in source.parents[:3]:
            folders.flush(folder)

    def open_source(self, dataset_id: str, *, sha256: str) -> Path:
        """The uploaded file of a dataset."""
        return self.source(dataset_id)

    def remove_source(self, dataset_id: str) -> None:
        """Delete the uploaded file: it has been read."""
        self.source(dataset_id).unlink(missing_ok=True)

    def keep_dataset(self, dataset_id: str) -> None:
        """The dataset is complete in its place: make it safe."""

    def open_dataset(self, dataset_id: str) -> Path:
        """The canonical dataset."""
        return self.dataset(dataset_id)

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
        part = run.with_name("run.part")  # a copy that was interrupted must not pass for the latest attempt
        for earlier in reversed(self.attempts(job_id)):
            if earlier < fence and self._take_over(job_id, earlier, part):
                part.replace(run)
                break
        run.mkdir(parents=True, exist_ok=True)
        return run

    def save(self, job_id: str, fence: int) -> None:
        """Make safe what an attempt has finished so far, so that the next one can go on from there."""

    def keep_model(self, job_id: str, fence: int) -> str:
        """The same, of a model."""
        return self.keep_outcome(job_id, fence, "model")

    def keep_outcome(self, job_id: str, fence: int, what: Outcome) -> str:
        """Make the model or the predictions of an attempt safe; the key is what a row publishes."""
        return self.key(self.attempt(job_id, fence) / "run" / what)

    def open_model(self, key: str) -> Path:
        """The model folder of a key that `keep_outcome` gave."""
        return self.at(key)

    open_result = open_model

    def holds(self, key: str, name: str) -> bool:
        """Whether a folder holds this file."""
        return (self.at(key) / name).is_file()

    def intact(self, key: str, name: str, sha256: str) -> bool:
        """Whether a file is what it was, read anew from where it is kept."""
        with contextlib.suppress(FileNotFoundError):
            return folders.digest(self.at(key) / name) == sha256
        return False

    def read(self, key: str, name: str) -> bytes:
        """A small file of a folder, read anew from where it is kept."""
        return (self.at(key) / name).read_bytes()

    def remove_dataset(self, dataset_id: str) -> None:
        """Delete a dataset's bytes."""
        shutil.rmtree(self._dataset(dataset_id), ignore_errors=True)

    def remove_job(self, job_id: str) -> None:
        """Delete all that a job wrote."""
        shutil.rmtree(self._job(job_id), ignore_errors=True)

    def prune_job(self, job_id: str, *, keep: int | None) -> None:
        """Leave of an ended job the model and the log of the attempt that counts."""
        for fence in self.attempts(job_id):
            self._prune_attempt(job_id, fence, keep=keep)

    def forget_attempts(self, job_id: str, *, keep: int) -> None:
        """Of a job that failed leave one attempt, for whoever asks why."""
        for fence in self.attempts(job_id):
            if fence not in (0, keep):  # what was uploaded stays for a retry
                self.discard(self.key(self.attempt(job_id, fence)))

    def pieces(self) -> Iterator[Piece]:
        """All that rows should name."""
        for pattern in ("tmp/*", "datasets/*", "datasets/*/.intake-*", "jobs/*", "jobs/*/*"):
            for path in sorted(self.root.glob(pattern)):
                with contextlib.suppress(FileNotFoundError):
                    yield Piece(self.key(path), path.lstat().st_mtime)

    def size(self, key: str) -> int:
        """The bytes of a piece."""
        return copies.size(self.at(key))

    def discard(self, key: str) -> None:
        """Delete litter that lies inside the store."""
        path = self.at(key)
        if not path.resolve().is_relative_to(self.root.resolve()):
            raise ValueError("only what lies in the store can be discarded")
        copies.delete(path)

    def _prune_attempt(self, job_id: str, fence: int, *, keep: int | None) -> None:
        folder = self.attempt(job_id, fence)
        if fence != keep:
            shutil.rmtree(folder, ignore_errors=True)
            return
        for path in (folder / "run").glob("*"):
            if path.name not in OUTCOMES:
                copies.delete(path)

    def _take_over(self, job_id: str, earlier: int, part: Path) -> bool:
        """Fill a new folder with what an earlier attempt finished, if it got anywhere."""
        before = self.attempt(job_id, earlier) / "run"
        if not (before / "run" / "run.json").exists():
            return False
        with full_disk():
            copies.link(before, part)
        return True

    def _dataset(self, dataset_id: str) -> Path:
        if not ids.valid("ds", dataset_id):
            raise errors.NotFound(f"there is no dataset {dataset_id!r}")
        return self.root / "datasets" / dataset_id

    def _job(self, job_id: str) -> Path:
        if not ids.valid("job", job_id):
            raise errors.NotFound(f"there is no job {job_id!r}")
        return self.root / "jobs" / job_id
