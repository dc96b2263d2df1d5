"""Bytes set aside beside an SQLite file, to be let go when the disk is full: deleting needs to write, too."""

import contextlib
import os
import shutil
from collections.abc import Callable
from typing import TypeVar

from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from app.core import db
from app.core.settings import Settings

T = TypeVar("T")
ROOM = 4  # times its size must be free before the ballast is laid: it shall not be what fills the disk


class Ballast:
    """A file of zeros; a server's database has its own disk, and none of this."""

    def __init__(self, settings: Settings, database: db.Database) -> None:
        self._size = settings.ballast_bytes
        self._path = None if database.file is None else database.file.with_name("ballast")

    def lay(self) -> None:
        """Set the bytes aside, if there is room and they are not."""
        if self._path is None or self._size == 0 or self._path.exists():
            return
        if shutil.disk_usage(self._path.parent).free < ROOM * self._size:
            return
        with contextlib.suppress(OSError), self._path.open("xb") as file:  # another process may be laying it
            os.posix_fallocate(file.fileno(), 0, self._size)

    def pressing(self, database: db.Database, write: Callable[[Session], T]) -> T:
        """One transaction that makes space or stops what takes it: on a full disk the ballast is let go for it."""
        try:
            with database.begin() as tx:
                return write(tx)
        except OperationalError as exc:
            if not db.full(exc) or not self._drop():
                raise
            with database.begin() as tx:
                return write(tx)

    def _drop(self) -> bool:
        if self._path is None:
            return False
        try:
            self._path.unlink()
        except FileNotFoundError:
            return False
        return True
