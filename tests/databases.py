"""Databases with all their tables, for tests of what is done with them: migrated once, and then copied."""

import contextlib
import functools
import sqlite3
import tempfile
from pathlib import Path

import sqlalchemy

from app.core import schema


def prepare(url):
    """Bring a database to the newest schema: a new SQLite file as a copy, as migrating takes longer than most tests."""
    parsed = sqlalchemy.make_url(url)
    file = Path(parsed.database or "")
    if parsed.get_backend_name() != "sqlite" or file.exists():
        schema.upgrade(url)
        return
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    file.write_bytes(migrated())


@functools.cache
def migrated():
    """The bytes of an SQLite file with all tables."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "c2s.sqlite3"
        schema.upgrade(f"sqlite:///{file}")
        with contextlib.closing(sqlite3.connect(file)) as plain:
            plain.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return file.read_bytes()
