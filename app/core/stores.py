"""Which store: a folder that all processes share, or a bucket with a folder of each host's own before it."""

import contextlib
import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import structlog

from app.core import copies, errors, signing
from app.core.bucket import Bucket, Missing, Place
from app.core.incoming import Uploaded, full_disk
from app.core.settings import BucketSettings, Settings
from app.core.storage import OUTCOMES, Outcome, Piece, Store

log = structlog.get_logger("c2s.store")


def open_store(chosen: Settings) -> Store:
    """The store that the settings name."""
    if not chosen.store_url.startswith("s3://"):
        return Store(chosen.store, min_free=chosen.min_free_bytes)
    access = BucketSettings()
    who = signing.Credentials(
        access.access_key_id, access.secret_access_key.get_secret_value(), access.region
    )
    bucket = Bucket(Place.parse(chosen.store_url, access.endpoint, access.region), who)
    return BucketStore(chosen.store, bucket, min_free=chosen.min_free_bytes, cache_bytes=access.cache_bytes)


class BucketStore(Store):
    """The same keys in a bucket. Objects are written once and never changed; a folder counts when its list is there.

    The folder holds what this host works on and copies of what it read: losing it loses nothing that was published.
    """

    remote = True

    def __init__(self, root: Path, bucket: Bucket, *, min_free: int = 0, cache_bytes: int) -> None:
        super().__init__(root, min_free=min_free)
        self._bucket, self._copies = bucket, copies.Copies(root, most_bytes=cache_bytes)
        self._saved: dict[tuple[str, int], tuple[int, copies.Files]] = {}

    def prepare(self) -> None:
        """Make the bucket, unless there is one."""
        self._bucket.make()

    def close(self) -> None:
        """Let connections go."""
        self._bucket.close()

    def check(self) -> None:
        """Whether bytes can be written now, here and there."""
        super().check()
        self._bucket.answers()

    def keep_source(self, dataset_id: str, uploaded: Uploaded) -> None:
        """Put an upload where a worker will find it."""
        self._bucket.put(self.key(self.source(dataset_id)), uploaded.path, uploaded.sha256)

    def open_source(self, dataset_id: str, *, sha256: str) -> Path:
        """Bring the uploaded file of a dataset here."""
        source = self.source(dataset_id)
        with self._copies.aside() as part, self._expected(self.key(source)), full_disk():
            self._bucket.get(self.key(source), part, sha256=sha256)
            self._copies.place(part, source)
        return source

    def remove_source(self, dataset_id: str) -> None:
        """Delete the uploaded file: it has been read."""
        super().remove_source(dataset_id)
        self._forget(self.key(self.source(dataset_id)))

    def keep_dataset(self, dataset_id: str) -> None:
        """Bring a complete dataset to the bucket."""
        self._put_folder(self.dataset(dataset_id))

    def open_dataset(self, dataset_id: str) -> Path:
        """A sound copy of the canonical dataset."""
        return self._open(self.dataset(dataset_id))

    def attempts(self, job_id: str) -> list[int]:
        """The attempts that left something, here or there, oldest first."""
        there = self._bucket.list(f"{self.key(self._job(job_id))}/")
        return sorted({*super().attempts(job_id), *(int(entry.key.split("/")[2]) for entry in there)})

    def save(self, job_id: str, fence: int) -> None:
        """Bring what is new to the bucket; a list that is written last says what belongs together."""
        attempt = self.attempt(job_id, fence)
        number, before = self._saved.get((job_id, fence), (0, {}))
        with self._copies.aside() as still:
            copies.link(attempt / "run", still)  # the training goes on and tidies up meanwhile
            for name in OUTCOMES:  # goes alone, when it is published
                copies.delete(still / name)
            files = {name: before.get(name) or fact for name, fact in copies.survey(still).items()}
            for name in sorted(files.keys() - before.keys()):
                self._bucket.put(f"{self.key(attempt)}/run/{name}", still / name, files[name]["sha256"])
        self._put_bytes(_list_key(self.key(attempt), number + 1), copies.listing(files))
        self._saved[job_id, fence] = (number + 1, files)
        gone = [f"{self.key(attempt)}/run/{name}" for name in before.keys() - files.keys()]
        self._bucket.delete([*gone, *([_list_key(self.key(attempt), number)] if number else [])])

    def keep_outcome(self, job_id: str, fence: int, what: Outcome) -> str:
        """Bring the model or the predictions of an attempt to the bucket."""
        self._saved.pop((job_id, fence), None)
        return self._put_folder(self.attempt(job_id, fence) / "run" / what)

    def open_model(self, key: str) -> Path:
        """A sound copy of a published model."""
        try:
            return self._open(self.at(key))
        except errors.Damaged as exc:
            raise errors.Unavailable(str(exc), code="model_damaged", retry_after=300) from exc

    def open_result(self, key: str) -> Path:
        """A sound copy of predictions."""
        return self._open(self.at(key))

    def holds(self, key: str, name: str) -> bool:
        """Whether the bucket has this file, and the list that makes it count."""
        return self._bucket.exists(f"{key}/{name}") and self._bucket.exists(f"{key}/{copies.LIST}")

    def intact(self, key: str, name: str, sha256: str) -> bool:
        """Whether a file is what it was, read anew from the bucket."""
        with self._copies.aside() as target:
            try:
                self._bucket.get(f"{key}/{name}", target, sha256=sha256)
            except (Missing, errors.Damaged):
                return False
        return True

    def read(self, key: str, name: str) -> bytes:
        """A small file of a folder, read anew from the bucket."""
        with self._expected(key):
            return self._bucket.read(f"{key}/{name}")

    def remove_dataset(self, dataset_id: str) -> None:
        """Delete a dataset's bytes, here and there."""
        super().remove_dataset(dataset_id)
        self._forget(f"{self.key(self._dataset(dataset_id))}/")

    def remove_job(self, job_id: str) -> None:
        """Delete all that a job wrote."""
        super().remove_job(job_id)
        self._forget(f"{self.key(self._job(job_id))}/")

    def prune_job(self, job_id: str, *, keep: int | None) -> None:
        """Leave of an ended job what the attempt that counts has published."""
        kept = "" if keep is None else f"{self.key(self.attempt(job_id, keep))}/run/"
        self._forget(f"{self.key(self._job(job_id))}/", but=[f"{kept}{name}/" for name in OUTCOMES if kept])
        for fence in super().attempts(job_id):
            self._prune_attempt(job_id, fence, keep=keep)

    def pieces(self) -> Iterator[Piece]:
        """All that rows should name, and uploads in parts that have not ended."""
        yield from (piece for piece in super().pieces() if piece.key.startswith("tmp/"))
        newest: dict[str, float] = {}
        for prefix in ("datasets/", "jobs/"):
            for entry in self._bucket.list(prefix):
                parts = entry.key.split("/")
                for depth in (2, 3) if prefix == "jobs/" else (2,):
                    key = "/".join(parts[:depth])
                    newest[key] = max(newest.get(key, 0.0), entry.modified)
        yield from (Piece(key, modified) for key, modified in sorted(newest.items()))
        yield from (Piece(f"parts/{upload}/{key}", began) for key, upload, began in self._bucket.unfinished())

    def size(self, key: str) -> int:
        """The bytes of a piece."""
        return super().size(key) + sum(entry.bytes for entry in self._bucket.list(f"{key}/"))

    def discard(self, key: str) -> None:
        """Delete litter, here and there."""
        if key.startswith("parts/"):
            _, upload, name = key.split("/", 2)
            self._bucket.abort(name, upload)
            return
        super().discard(key)
        if not key.startswith("tmp/"):
            self._forget(f"{key}/")

    def _put_folder(self, folder: Path) -> str:
        key, files = self.key(folder), copies.survey(folder)
        for name, fact in files.items():
            self._bucket.put(f"{key}/{name}", folder / name, fact["sha256"])
        content = copies.listing(files)
        self._put_bytes(f"{key}/{copies.LIST}", content)
        with full_disk():
            (folder / copies.LIST).write_bytes(content)
        return key

    def _put_bytes(self, key: str, content: bytes) -> None:
        self._bucket.put(key, content, hashlib.sha256(content).hexdigest())

    def _open(self, folder: Path) -> Path:
        if self._copies.use(folder):
            return folder
        key = self.key(folder)
        with self._copies.alone(folder):
            if not self._copies.use(folder):  # another may have brought it meanwhile
                with self._copies.aside() as part, self._expected(key), full_disk():
                    self._fetch(f"{key}/{copies.LIST}", f"{key}/", part)
                    self._copies.place(part, folder)
        return folder

    def _fetch(self, list_key: str, prefix: str, target: Path) -> None:
        """Fill a new folder with the files of a list."""
        content = self._bucket.read(list_key)
        target.mkdir(parents=True)
        for name, fact in copies.listed(content).items():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            self._bucket.get(f"{prefix}{name}", target / name, sha256=fact["sha256"])
        if list_key == f"{prefix}{copies.LIST}":
            (target / copies.LIST).write_bytes(content)

    def _take_over(self, job_id: str, earlier: int, part: Path) -> bool:
        """From this host where the attempt ran here, which may be ahead of the bucket; else from there."""
        if super()._take_over(job_id, earlier, part):
            return True
        key = self.key(self.attempt(job_id, earlier))
        for _ in range(3):  # the earlier attempt may live after all and replace its list while we read
            lists = sorted(entry.key for entry in self._bucket.list(f"{key}/saved-"))
            if not lists:
                return False
            try:
                with full_disk():
                    self._fetch(lists[-1], f"{key}/run/", part)
                return True
            except (Missing, errors.Damaged) as exc:
                log.warning("state_not_whole", key=lists[-1], error=type(exc).__name__)
                copies.delete(part)
        return False

    def _forget(self, prefix: str, *, but: Sequence[str] = ()) -> None:
        """Delete objects; what cannot be deleted now no row names, so the janitor finds it."""
        try:
            keys = [entry.key for entry in self._bucket.list(prefix)]
            self._bucket.delete(key for key in keys if not key.startswith(tuple(but)))
        except errors.ServiceError as exc:
            log.warning("left_behind", prefix=prefix, error=str(exc))

    @contextlib.contextmanager
    def _expected(self, key: str) -> Iterator[None]:
        try:
            yield
        except Missing as exc:
            raise errors.Damaged(f"the bytes of {key} are gone from the store") from exc


def _list_key(attempt: str, number: int) -> str:
    return f"{attempt}/saved-{number:05d}.json"
