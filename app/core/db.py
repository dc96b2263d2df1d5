"""The database: one door for SQLite and PostgreSQL; all that differs between them is in this file.

On SQLite a write transaction begins with BEGIN IMMEDIATE: a deferred one fails when it turns from reading to writing,
and the driver's own mode loses updates. Reads run beside it, on connections that cannot write.
"""

import contextlib
import fcntl
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import sqlalchemy
from sqlalchemy import Engine, Float, create_engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import Session
from sqlalchemy.sql.functions import FunctionElement

BUSY_MILLISECONDS = 10_000  # how long a writer waits for its turn
STATEMENT_MILLISECONDS, LOCK_MILLISECONDS = 5_000, 2_000
MIGRATIONS = Path(__file__).parents[2] / "migrations"


class now(FunctionElement[float]):  # noqa: N801 - reads as the SQL function it is
    """Seconds since 1970 by the database's clock: workers' clocks may differ, leases may not."""

    type = Float()
    inherit_cache = True


@compiles(now, "sqlite")
def _now_sqlite(element: Any, compiler: Any, **options: Any) -> str:
    return "((julianday('now') - 2440587.5) * 86400.0)"


@compiles(now, "postgresql")
def _now_postgresql(element: Any, compiler: Any, **options: Any) -> str:
    return "extract(epoch from clock_timestamp())::float8"


class Database:
    """Sessions for writing and for reading; a session is one transaction."""

    def __init__(self, url: str) -> None:
        self.url = sqlalchemy.make_url(url)
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        self.writer = _sqlite(self.url, writes=True) if self.is_sqlite else _postgresql(self.url)
        # SQLite's own waiting is a poll with growing pauses and no order: our threads queue here instead.
        self._turns = threading.Lock()
        self.reader = _sqlite(self.url, writes=False) if self.is_sqlite else self.writer

    @contextlib.contextmanager
    def begin(self) -> Iterator[Session]:
        """One write transaction: committed on a clean exit, undone on an error."""
        with self._turn(), Session(self.writer, expire_on_commit=False) as session, session.begin():
            yield session

    @contextlib.contextmanager
    def _turn(self) -> Iterator[None]:
        if not self.is_sqlite:
            yield
            return
        if not self._turns.acquire(timeout=BUSY_MILLISECONDS / 1000):
            raise sqlalchemy.exc.OperationalError("BEGIN IMMEDIATE", None, TimeoutError("no turn to write"))
        try:
            yield
        finally:
            self._turns.release()

    @contextlib.contextmanager
    def read(self) -> Iterator[Session]:
        """A consistent look that changes nothing."""
        with Session(self.reader, expire_on_commit=False) as session:
            yield session

    def skip_locked(self) -> dict[str, bool]:
        """How a claim passes over rows that another worker is claiming; SQLite has one writer at a time."""
        return {} if self.is_sqlite else {"skip_locked": True}

    def close(self) -> None:
        """Let go of all connections."""
        self.writer.dispose()
        self.reader.dispose()


def unavailable(error: DBAPIError) -> bool:
    """Whether the database is away or busy, rather than the statement wrong."""
    if error.connection_invalidated or isinstance(error, sqlalchemy.exc.OperationalError):
        return True
    return isinstance(error, sqlalchemy.exc.InterfaceError)


def upgrade(url: str, revision: str = "head") -> None:
    """Bring the schema to a revision; two processes that try at once take turns."""
    from alembic import command

    with _turn(url):
        command.upgrade(_alembic(url), revision)


def downgrade(url: str, revision: str) -> None:
    """Take the schema back to a revision."""
    from alembic import command

    command.downgrade(_alembic(url), revision)


@contextlib.contextmanager
def _turn(url: str) -> Iterator[None]:
    """One migration at a time on SQLite; on PostgreSQL the migrations' own environment takes a lock."""
    parsed = sqlalchemy.make_url(url)
    if parsed.get_backend_name() != "sqlite" or not parsed.database:
        yield
        return
    path = Path(parsed.database)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with path.with_suffix(".lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _alembic(url: str) -> Any:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["url"] = url
    return config


def _sqlite(url: sqlalchemy.URL, *, writes: bool) -> Engine:
    engine = create_engine(
        url,
        # One writer has the turn; readers are as many as threads. Beyond the pool a connection would be opened and
        # closed for each request, which costs more than the request.
        pool_size=1 if writes else 40,
        max_overflow=0,
        connect_args={"timeout": BUSY_MILLISECONDS / 1000, "check_same_thread": False},
    )

    @event.listens_for(engine, "connect")
    def prepare(connection: sqlite3.Connection, _record: object) -> None:
        connection.isolation_level = None  # transactions are ours to begin
        pragmas = [
            "journal_mode=WAL",
            "synchronous=FULL",
            "foreign_keys=ON",
        ]  # FULL: an answered job survives
        for pragma in [*pragmas, f"busy_timeout={BUSY_MILLISECONDS}", *([] if writes else ["query_only=ON"])]:
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def begin(connection: sqlalchemy.Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _postgresql(url: sqlalchemy.URL) -> Engine:
    options = (
        f"-c statement_timeout={STATEMENT_MILLISECONDS} -c lock_timeout={LOCK_MILLISECONDS}"
        " -c idle_in_transaction_session_timeout=30000"
    )
    return create_engine(
        url,
        pool_pre_ping=True,  # a restarted server costs a reconnect, not an error
        pool_size=20,
        max_overflow=0,
        pool_timeout=5,
        connect_args={"connect_timeout": 3, "options": options},
    )
