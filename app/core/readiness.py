"""What the service needs and whether it is there. Names and plain words only: probes carry no token.

`missing` means that this process cannot do its work; `degraded` that it can, while something else cannot: a job is
accepted without a broker and without a worker, and waits.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import func, select, text
from sqlalchemy.exc import SQLAlchemyError

from app.core import db, errors, relay, schema, storage
from app.core.settings import Settings
from app.core.tables import IS_ACTIVE, IS_QUEUED, Job

Name = Literal["database", "migrations", "store", "broker", "worker"]
State = Literal["ok", "degraded", "missing"]
NEEDED: frozenset[Name] = frozenset({"database", "migrations", "store"})
PATIENCE_SECONDS = 15.0  # a job that waits longer with nobody at work has no worker


@dataclass(frozen=True)
class Finding:
    """What one look found."""

    name: Name
    state: State = "ok"
    detail: str = ""


Look = Callable[[], Finding]


def looks(settings: Settings, database: db.Database, store: storage.Store) -> dict[Name, Look]:
    """Every look that concerns these settings."""
    chosen: dict[Name, Look] = {
        "database": lambda: _database(database),
        "migrations": lambda: migrations(database),
        "store": lambda: _store(store),
        "worker": lambda: _worker(database),
    }
    if not settings.embedded:
        chosen["broker"] = lambda: _broker(settings.broker_url)
    return chosen


def silent(name: Name, seconds: float) -> Finding:
    """What it means that a look has found nothing yet."""
    state: State = "missing" if name in NEEDED else "degraded"
    return Finding(name, state, f"no answer within {seconds:g} seconds")


def _database(database: db.Database) -> Finding:
    try:
        with database.read() as tx:
            tx.execute(text("SELECT 1"))
    except SQLAlchemyError:
        return Finding("database", "missing", "the database does not answer")
    return Finding("database")


@functools.cache
def _revisions() -> tuple[str, ...]:
    return schema.revisions()


def migrations(database: db.Database) -> Finding:
    """Whether the schema is the one that this program was made for."""
    *_, head = _revisions()
    try:
        with database.read() as tx:
            found = tx.scalar(text("SELECT version_num FROM alembic_version"))
    except SQLAlchemyError:
        return Finding(
            "migrations",
            "missing",
            "the version of the schema cannot be read: if there is none, `c2s migrate` makes it",
        )
    if found == head:
        return Finding("migrations")
    if found in _revisions():
        return Finding("migrations", "missing", "the schema is older than this program: run `c2s migrate`")
    return Finding("migrations", "degraded", "the schema is newer than this program: bring it up to date")


def _store(store: storage.Store) -> Finding:
    try:
        with store.upload(limit=0):  # a real file: permissions alone say little about a disk
            store.check()
            return Finding("store")
    except errors.Unavailable:
        return Finding("store", "missing", "the store does not answer")
    except errors.StoreFull:
        return Finding("store", "degraded", "the store has no space left: files are refused")
    except OSError:
        return Finding("store", "missing", "the store cannot be written")


def _broker(url: str) -> Finding:
    if relay.reachable(url):
        return Finding("broker")
    return Finding("broker", "degraded", "the broker does not answer: jobs are accepted and wait")


def _worker(database: db.Database) -> Finding:
    """Rows tell: a worker at work holds a lease, and one that is free would have taken what waits."""
    alive = select(func.count()).select_from(Job).where(IS_ACTIVE, Job.lease_until >= db.now())
    oldest = select(db.now() - Job.created_at).where(IS_QUEUED).order_by(Job.rank, Job.id).limit(1)
    try:
        with database.read() as tx:
            idle = not tx.scalar(alive) and (tx.scalar(oldest) or 0) > PATIENCE_SECONDS
    except SQLAlchemyError:
        return Finding("worker", "degraded", "whether a worker runs cannot be read")
    return Finding("worker", "degraded", "jobs wait and no worker takes them") if idle else Finding("worker")
