"""A file on its way in, and the disk that may be too full for it."""

import contextlib
import errno
import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from app.core import errors

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
PASSING = (
    errno.EIO,
    errno.ESTALE,
    errno.ETIMEDOUT,
    errno.EREMOTEIO,
)  # of a disk or a share: it may come back


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
        self._file.write(chunk)

    def finish(self) -> Uploaded:
        """Flush it to the disk."""
        self._file.flush()
        os.fsync(self._file.fileno())
        return Uploaded(self.path, self.bytes, self._hash.hexdigest())


@contextlib.contextmanager
def full_disk() -> Iterator[None]:
    """A disk that is full or fails is an answer, not a failure of ours."""
    try:
        yield
    except OSError as exc:
        if (known := trouble(exc)) is not None:
            raise known from exc
        raise


def trouble(exc: OSError) -> errors.ServiceError | None:
    """What a user is told of an error of the disk; None: it is not one."""
    if exc.errno in FULL:
        return errors.StoreFull("the disk is full")
    if exc.errno in PASSING:
        return errors.Unavailable("the store does not answer")
    return None
