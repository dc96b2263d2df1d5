"""A job in a worker's hands: claimed, kept by heartbeats, ended or given back.

Every write is a compare-and-set on fence and state. A claim raises the fence; whoever writes with an older one is
`Lost`, and may only leave litter.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Update, func, null, select, update
from sqlalchemy.orm import Session

from app.core import events, jobs, metrics, models
from app.core.db import now
from app.core.tables import ACTIVE, IS_ACTIVE, IS_QUEUED, Dataset, Intake, Job, Model, State, Task

SHRINKS = 1  # how often a batch is halved before a job fails for want of memory


class Lost(Exception):
    """The claim is no longer ours: the lease ran out and another worker has the job, or it has ended."""


@dataclass(frozen=True)
class Claim:
    """A job in our hands, as long as the lease is renewed."""

    job_id: str
    fence: int
    task: str
    dataset_id: str | None
    config: dict[str, Any]
    manifest: dict[str, Any]
    name: str | None
    shrink: int


@dataclass(frozen=True)
class Wishes:
    """What a heartbeat learns."""

    cancel: bool


def waiting(tx: Session) -> int:
    """How many jobs wait for a worker."""
    queued = select(func.count()).select_from(Job).where(IS_QUEUED)
    lost = select(func.count()).select_from(Job).where(IS_ACTIVE, Job.lease_until < now())
    return (tx.scalar(queued) or 0) + (tx.scalar(lost) or 0)


def orphans(tx: Session, dead: Callable[[str], bool]) -> list[tuple[str, int]]:
    """Jobs, with their fences, whose leases last but whose owners are provably dead."""
    held = select(Job.id, Job.fence, Job.owner).where(IS_ACTIVE, Job.lease_until >= now())
    return [(row.id, row.fence) for row in tx.execute(held) if row.owner is not None and dead(row.owner)]


def bury(tx: Session, job_id: str, fence: int) -> None:
    """End the lease of a dead owner now; whoever claims the job next raises the fence, as after any lease."""
    held = update(Job).where(Job.id == job_id, Job.fence == fence, Job.state.in_(ACTIVE))
    tx.execute(held.values(lease_until=now() - 1))


def claim(
    tx: Session,
    *,
    owner: str,
    tasks: Sequence[Task],
    lease: float,
    crash_limit: int,
    skip_locked: bool = False,
) -> Claim | None:
    """The best job that is free: one whose worker went silent, else the first of the highest priority."""
    while True:
        job = _take(tx, owner=owner, tasks=tasks, lease=lease, skip_locked=skip_locked)
        if job is None:
            return None
        held = Claim(
            job.id, job.fence, job.task, job.dataset_id, job.config, job.manifest, job.name, job.shrink
        )
        if job.cancel_requested:  # its worker died before it could obey
            cancel(tx, held)
        elif job.crashes >= crash_limit:
            why = f"the job ended its worker {job.crashes} times in a row"
            fail(tx, held, jobs.error("worker_lost", why, phase=job.phase))
        else:
            events.append(tx, job.id, [("state", {"state": State.running, "attempt": job.fence})])
            return held


def _take(tx: Session, *, owner: str, tasks: Sequence[Task], lease: float, skip_locked: bool) -> Job | None:
    abandoned = IS_ACTIVE & (Job.lease_until < now())
    for free, order, crashed in ((abandoned, Job.lease_until, 1), (IS_QUEUED, Job.rank, 0)):
        chosen = (
            select(Job.id)
            .where(free, Job.task.in_(tasks))
            .order_by(order, Job.id)
            .limit(1)
            .with_for_update(skip_locked=skip_locked)
            .scalar_subquery()
        )
        taking = (
            update(Job)
            .where(Job.id == chosen, free)
            .values(
                state=State.running,
                fence=Job.fence + 1,
                owner=owner,
                lease_until=now() + lease,
                attempts=Job.attempts + 1,
                crashes=Job.crashes + crashed,
                started_at=func.coalesce(Job.started_at, now()),
            )
        )
        if (job := jobs.changed(tx, taking)) is not None:
            if crashed:
                metrics.taken_over(tx)
            return job
    return None


def beat(
    tx: Session,
    held: Claim,
    *,
    lease: float,
    news: Sequence[events.News] = (),
    progress: dict[str, Any] | None = None,
    estimate: dict[str, Any] | None = None,
) -> Wishes:
    """Renew the lease, write what happened since the last beat, and learn the user's wishes, in one transaction."""
    values: dict[str, Any] = {"lease_until": now() + lease}
    if progress is not None:
        values["progress"] = progress
    if estimate is not None:
        values["result"] = {"estimate": estimate}
    for kind, data in news:
        if kind == "phase":
            values["phase"] = data["phase"]
        if kind == "checkpoint":
            values["crashes"] = 0  # the cap counts crashes with nothing gained between them
    job = _held(tx, held, update(Job).values(**values))
    events.append(tx, held.job_id, news)
    return Wishes(cancel=job.cancel_requested)


def succeed(tx: Session, held: Claim, result: dict[str, Any], model: Model | None = None) -> None:
    """The job is done and, for a training, its model is published, in one transaction."""
    job = _end(tx, held, State.succeeded, result=result)
    if job.progress is not None:  # the last that was told of it is from before the end
        job.progress = {**job.progress, "fraction": 1.0, "eta_seconds": 0.0}
    if model is not None:
        models.publish(tx, model, job.project_id)


def fail(tx: Session, held: Claim, why: dict[str, Any]) -> None:
    """The job cannot succeed."""
    _end(tx, held, State.failed, error=why)


def cancel(tx: Session, held: Claim) -> None:
    """The job has stopped because its user asked for it."""
    _end(tx, held, State.cancelled)


def release(tx: Session, held: Claim, *, reason: str = "released by a worker that is shutting down") -> None:
    """Give the job back unharmed: this worker is shutting down, or cannot reach what the job needs."""
    _requeue(tx, held, reason, preemptions=Job.preemptions + 1)


def crash(tx: Session, held: Claim, why: dict[str, Any], *, crash_limit: int) -> None:
    """The process of the job died: try again, unless it keeps dying without getting anywhere."""
    job = _held(tx, held, update(Job).values(crashes=Job.crashes + 1))
    if job.crashes >= crash_limit and not job.cancel_requested:
        fail(tx, held, why)
    else:
        _requeue(tx, held, why["message"])


def starve(tx: Session, held: Claim, why: dict[str, Any]) -> None:
    """The job ran out of memory: try again with half the batch, once."""
    if held.shrink >= SHRINKS:
        fail(tx, held, why)
    else:
        reason = "out of memory: tried again with half the batch"
        _requeue(tx, held, reason, shrink=Job.shrink + 1, result=null())  # smaller batches estimate anew


def _requeue(tx: Session, held: Claim, reason: str, **values: ColumnElement[Any]) -> None:
    job = _held(tx, held, update(Job).values(owner=None, **values))
    if job.cancel_requested:
        cancel(tx, held)
        return
    _held(tx, held, update(Job).values(state=State.queued, lease_until=None))
    events.append(tx, held.job_id, [("state", {"state": State.queued, "reason": reason})])


def _end(tx: Session, held: Claim, state: State, **values: Any) -> Job:
    final = update(Job).values(state=state, lease_until=None, owner=None, finished_at=now(), **values)
    job = _held(tx, held, final)
    metrics.finished(tx, state, values.get("error", {}).get("code", ""))
    said = {"state": state} | ({"error": values["error"]} if "error" in values else {})
    events.append(tx, held.job_id, [("end", said)])
    if held.task == "ingest" and state != State.succeeded:  # nobody will read the file any more
        unread = update(Dataset).where(Dataset.id == held.dataset_id, Dataset.state == Intake.validating)
        tx.execute(unread.values(state=Intake.refused, error=values.get("error")))
    return job


def _held(tx: Session, held: Claim, change: Update) -> Job:
    """Apply a change to the job we hold, or find that we hold it no more."""
    ours = change.where(Job.id == held.job_id, Job.fence == held.fence, Job.state.in_(ACTIVE))
    job = jobs.changed(tx, ours)
    if job is None:
        raise Lost(f"job {held.job_id} is no longer held by attempt {held.fence}")
    return job
