"""Which workers there are: each renews a row of its own, seldom enough to cost nothing, and takes it away at its end.

Nothing is decided by these rows. Who holds a job is in the job's, and whether a worker takes jobs shows by those that
wait; so a worker that cannot write its row works on.
"""

from collections.abc import Callable
from typing import TypedDict

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from app.core.db import now
from app.core.ownership import Worker
from app.core.tables import IS_ACTIVE, Job

BEAT_SECONDS = 15.0
SILENT_SECONDS = 60.0  # after so many beats missed it is not called there any more
FORGOTTEN_SECONDS = 3600.0  # and then not told of at all


class Facts(TypedDict):
    """What a worker tells of itself."""

    processes: list[int]  # of its pool: jobs are theirs
    device: str  # as set; `auto` is settled by each training
    slots: int
    version: str


def beat(tx: Session, worker_id: str, owner: str, facts: Facts) -> None:
    """Say that a worker is there."""
    seen = update(Worker).where(Worker.id == worker_id).values(seen_at=now(), facts=dict(facts))
    if tx.execute(seen.returning(Worker.id)).first() is None:
        tx.add(Worker(id=worker_id, owner=owner, facts=dict(facts)))


def leave(tx: Session, worker_id: str) -> None:
    """A worker ends."""
    tx.execute(delete(Worker).where(Worker.id == worker_id))


def bury(tx: Session, dead: Callable[[str], bool]) -> None:
    """Forget workers that provably ended without a word."""
    for one in tx.scalars(select(Worker)):
        if dead(one.owner):
            tx.delete(one)


def forget(tx: Session) -> None:
    """Forget who has been silent for long."""
    tx.execute(delete(Worker).where(Worker.seen_at < now() - FORGOTTEN_SECONDS))


def held(tx: Session) -> dict[str, list[str]]:
    """The jobs in hand, by the place and the number of the process that holds them."""
    found: dict[str, list[str]] = {}
    for job_id, owner in tx.execute(select(Job.id, Job.owner).where(IS_ACTIVE, Job.lease_until >= now())):
        found.setdefault(str(owner).rpartition(":")[0], []).append(job_id)
    return found
