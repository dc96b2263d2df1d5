"""The database: one door for SQLite and PostgreSQL; all that differs between them is in this file.

On SQLite a write transaction begins with BEGIN IMMEDIATE: a deferred one fails when it turns from reading to writing,
and the driver's own mode loses updates. Reads run beside it, on connections that cannot write.
"""

import contextlib
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy
from sqlalchemy import Connection, Engine, Float, create_engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import Session
from sqlalchemy.sql.functions import FunctionElement

from app.core import groups
from app.core.callers import Caller

T = TypeVar("T")
Tx = Session | Connection  # a transaction, with rows as objects or as plain values
BUSY_MILLISECONDS = 10_000  # how long a writer waits for its turn
STATEMENT_MILLISECONDS, LOCK_MILLISECONDS = 5_000, 2_000
FRESH_SECONDS = 1.0  # a connection used so lately is not asked whether it still lives


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
        self.file = Path(self.url.database) if self.is_sqlite and self.url.database else None
        self.writer = _sqlite(self.url, writes=True) if self.is_sqlite else _postgresql(self.url)
        # SQLite's own waiting is a poll with growing pauses and no order: our threads queue here instead.
        self._turns = threading.Lock()
        self._queue = groups.Queue(self._carry_out, patience=BUSY_MILLISECONDS / 1000)
        self.reader = _sqlite(self.url, writes=False) if self.is_sqlite else self.writer
        self.caller: Caller | None = None  # on whose behalf: `ownership.of`

    @contextlib.contextmanager
    def begin(self) -> Iterator[Session]:
        """One write transaction: committed on a clean exit, undone on an error."""
        with self._turn(), self._session(self.writer) as session, session.begin():
            yield session

    def write(self, work: Callable[[Connection], T], *, alone: bool = False) -> T:
        """Do the work in one transaction, which is committed when this returns; on SQLite others may share it.

        `alone`: the last of its statements is the only one that writes, and PostgreSQL need not be told twice more.
        """
        if not self.is_sqlite:
            with self.writer.connect() as connection:
                if alone:
                    return work(connection.execution_options(isolation_level="AUTOCOMMIT"))
                with connection.begin():
                    return work(connection)
        try:
            return self._queue.write(work)
        except TimeoutError as exc:
            raise sqlalchemy.exc.OperationalError("BEGIN IMMEDIATE", None, exc) from exc

    def _carry_out(self, take: Callable[[], Sequence[groups.Write]]) -> None:
        with self._turn(), self.writer.begin() as connection:
            for write in (group := take()):
                if len(group) == 1:
                    write.result = write.work(connection)
                    continue
                write.attempt(connection)
                if write.error is not None and not connection.connection.dbapi_connection.in_transaction:  # type: ignore[union-attr]
                    raise write.error  # a full disk: SQLite has undone the whole transaction by itself

    def _session(self, engine: Engine) -> Session:
        return Session(engine, expire_on_commit=False, info={"caller": self.caller})

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
        with self._session(self.reader) as session:
            yield session

    def skip_locked(self) -> dict[str, bool]:
        """How a claim passes over rows that another worker is claiming; SQLite has one writer at a time."""
        return {} if self.is_sqlite else {"skip_locked": True}

    def close(self) -> None:
        """Let go of all connections, also of those that a thread still holds: they end when it is done."""
        for engine in {self.writer, self.reader}:
            event.listen(engine, "checkin", lambda _connection, record: record.invalidate())
            engine.dispose()


@contextlib.contextmanager
def mapped(connection: Connection, caller: Caller | None) -> Iterator[Session]:
    """Rows as objects and as a caller sees them, inside a transaction that somebody else began and will end."""
    options: dict[str, Any] = {"expire_on_commit": False, "join_transaction_mode": "rollback_only"}
    with Session(connection, info={"caller": caller}, **options) as session:
        yield session
        session.flush()


def plain(tx: Tx) -> Connection:
    """The connection of a transaction: statements on tables cost a third of those on classes."""
    return tx.connection() if isinstance(tx, Session) else tx


def unavailable(error: DBAPIError) -> bool:
    """Whether the database is away or busy, rather than the statement wrong."""
    if error.connection_invalidated or isinstance(error, sqlalchemy.exc.OperationalError):
        return True
    return isinstance(error, sqlalchemy.exc.InterfaceError)


def full(error: DBAPIError) -> bool:
    """Whether the disk under an SQLite file is full."""
    return getattr(error.orig, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL


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
    engine = create_engine(
        url,
        pool_size=20,
        max_overflow=0,
        pool_timeout=5,
        # a host that is cut off must notice: TCP alone would wait for a quarter of an hour
        connect_args={
            "connect_timeout": 3,
            "tcp_user_timeout": 10_000,
            "keepalives_idle": 10,
            "keepalives_interval": 5,
            "keepalives_count": 2,
            "options": options,
        },
    )

    # A restarted server costs a reconnect, not an error. Asking each time (`pool_pre_ping`) costs as much as the
    # request; the first to meet a dead connection invalidates them all anyway.
    @event.listens_for(engine, "checkin")
    def note(_connection: object, record: Any) -> None:
        record.info["used_at"] = time.monotonic()

    @event.listens_for(engine, "checkout")
    def ask(connection: Any, record: Any, _proxy: object) -> None:
        if time.monotonic() - record.info.get("used_at", time.monotonic()) < FRESH_SECONDS:
            return
        try:
            engine.dialect.do_ping(connection)
        except engine.dialect.loaded_dbapi.Error as exc:
            raise sqlalchemy.exc.InvalidatePoolError from exc

    return engine
