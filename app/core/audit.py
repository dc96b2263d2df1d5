"""Who changed what: written in the transaction of the change, so that neither is there without the other.

A job's own row says who made it, for want of time: making jobs is the busiest write. A page shows both in one order;
ids of either kind begin with their time.
"""

from collections.abc import Sequence
from typing import Any, Literal

from sqlalchemy import insert, select
from sqlalchemy.orm import Session

from app.core import ids
from app.core.callers import Caller
from app.core.db import Tx
from app.core.ownership import Audit
from app.core.tables import Job

Action = Literal[
    "alias.delete",
    "alias.rollback",
    "alias.set",
    "dataset.create",
    "dataset.delete",
    "job.create",
    "job.cancel",
    "job.review",
    "prediction.delete",
    "key.create",
    "key.revoke",
    "model.delete",
    "project.create",
    "project.change",
    "session.open",
    "session.close",
]


def note(tx: Tx, caller: Caller | None, action: Action, target: str, **detail: Any) -> None:
    """Remember a change; no secret is ever part of it."""
    if caller is None:  # not on anybody's behalf: a test, a tool on the machine itself
        return
    entry: dict[str, Any] = {"id": ids.new("aud"), "project_id": caller.project_id, "key_id": caller.key_id}
    entry |= {"action": action, "target": target, "request_id": caller.request_id, "detail": detail}
    tx.execute(insert(Audit), entry)


def page(tx: Session, *, after: str | None, limit: int) -> Sequence[Audit]:
    """Changes before the one of id `after`, newest first."""
    noted = select(Audit).order_by(Audit.id.desc()).limit(limit)
    made = (
        select(Job.id, Job.created_at, Job.made_by, Job.request_id, Job.retry_of, Job.project_id)
        .where(Job.made_by.is_not(None), Job.task != "ingest")
        .order_by(Job.id.desc())
        .limit(limit)
    )
    if after is not None:
        noted, made = noted.where(Audit.id < after), made.where(Job.id < f"job{after[3:]}")
    entries = [*tx.scalars(noted), *(_making(job) for job in tx.execute(made))]
    return sorted(entries, key=lambda entry: entry.id, reverse=True)[:limit]


def _making(job: Any) -> Audit:
    return Audit(
        id=f"aud{job.id[3:]}",
        at=job.created_at,
        project_id=job.project_id,
        key_id=job.made_by,
        action="job.create",
        target=job.id,
        request_id=job.request_id,
        detail={"retry_of": job.retry_of} if job.retry_of else {},
    )
