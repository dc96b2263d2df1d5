"""Jobs as their users see them: made, found, cancelled. With `claims`, the only module that changes `Job.state`.

queued -> running -> succeeded | failed | cancelled,   cancelling on the way, back to queued after a crash or drain
"""

from collections.abc import Sequence
from typing import Any, Literal

from sqlalchemy import Update, func, insert, select, update
from sqlalchemy.orm import Session

from app.core import errors, events, ids
from app.core.db import now
from app.core.tables import ENDED, IS_QUEUED, Dataset, Event, Job, State, Task

Code = Literal[
    "invalid_dataset",
    "out_of_memory",
    "diverged",
    "not_learnable",
    "worker_lost",
    "time_limit",
    "storage_full",
    "internal",
]
RETRIABLE = {"worker_lost", "time_limit", "storage_full", "internal", "out_of_memory"}


def create(
    tx: Session,
    dataset: Dataset,
    *,
    task: Task,
    config: dict[str, Any],
    manifest: dict[str, Any],
    name: str | None = None,
    priority: int = 0,
    retry_of: str | None = None,
    max_queue: int = 100_000,
) -> Job:
    """A queued job; the commit is the promise that it will end."""
    waiting = tx.scalar(select(func.count()).select_from(Job).where(IS_QUEUED)) or 0
    if waiting >= max_queue:
        raise errors.TooMany(f"{waiting} jobs are waiting, the limit is {max_queue}")
    job = Job(
        id=ids.new("job"),
        task=task,
        state=State.queued,
        dataset_id=dataset.id,
        name=name,
        config=config,
        manifest=manifest,
        rank=-priority,
        last_event=1,
        retry_of=retry_of,
    )
    tx.add(job)
    tx.flush()
    tx.execute(
        insert(Event), {"job_id": job.id, "number": 1, "type": "state", "data": {"state": State.queued}}
    )
    return job


def find(tx: Session, job_id: str, task: Task = "train") -> Job:
    """The job of this id."""
    job = tx.get(Job, job_id)
    if job is None or job.task != task:
        raise errors.NotFound(f"there is no job {job_id}")
    return job


def request_cancel(tx: Session, job_id: str) -> Job:
    """Ask a job to stop; one that waits is cancelled at once, one that ended otherwise is a conflict."""
    job = changed(
        tx,
        update(Job)
        .where(Job.id == job_id, Job.state == State.queued)
        .values(state=State.cancelled, finished_at=now()),
    )
    if job is not None:
        events.append(tx, job_id, [("end", {"state": State.cancelled})])
        return job
    asked = update(Job).where(Job.id == job_id, Job.state == State.running)
    job = changed(tx, asked.values(state=State.cancelling, cancel_requested=True))
    if job is not None:
        events.append(tx, job_id, [("state", {"state": State.cancelling})])
        return job
    job = find(tx, job_id)
    if job.state in (State.succeeded, State.failed):
        raise errors.Conflict(f"job {job_id} has {job.state} and cannot be cancelled", code="job_ended")
    return job


def error(code: Code, message: str, *, phase: str | None = None, log: Sequence[str] = ()) -> dict[str, Any]:
    """An error as the row keeps it."""
    retriable = code in RETRIABLE
    return {"code": code, "message": message, "phase": phase, "retriable": retriable, "log": list(log)}


def retry(tx: Session, job_id: str, *, max_queue: int) -> Job:
    """A new job like one that failed or was cancelled; the old one stays as it ended."""
    old = find(tx, job_id)
    if old.state not in (State.failed, State.cancelled):
        raise errors.Conflict(f"job {job_id} is {old.state}, only failed and cancelled jobs can be retried")
    dataset = tx.get(Dataset, old.dataset_id) if old.dataset_id else None
    if dataset is None:
        raise errors.Conflict(f"the dataset of job {job_id} was deleted", code="dataset_deleted")
    return create(
        tx,
        dataset,
        task="train",
        config=old.config,
        manifest=old.manifest,
        name=old.name,
        priority=-old.rank,
        retry_of=old.id,
        max_queue=max_queue,
    )


def ended(job: Job) -> bool:
    """Whether the job's state is final."""
    return job.state in ENDED


def changed(tx: Session, change: Update) -> Job | None:
    """Apply a compare-and-set; None: the row was not as expected."""
    return tx.scalar(change.returning(Job), execution_options={"populate_existing": True})
