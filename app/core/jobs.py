"""Jobs as their users see them: made, found, cancelled. With `claims`, the only module that changes `Job.state`.

queued -> running -> succeeded | failed | cancelled,   cancelling on the way, back to queued after a crash or drain
"""

from collections.abc import Sequence
from typing import Any, Literal, cast

from sqlalchemy import Column, Table, Update, select, update
from sqlalchemy.orm import Session

from app.core import backlog, db, errors, events, ids, inserts, metrics
from app.core.callers import DEFAULT_PROJECT, Caller
from app.core.db import now
from app.core.tables import ENDED, Dataset, Event, Job, State, Task

Code = Literal[
    "invalid_dataset",
    "invalid_model",  # of predictions: it was deleted, or its files are harmed
    "out_of_memory",
    "diverged",
    "not_learnable",
    "worker_lost",
    "time_limit",
    "storage_full",
    "quota_exceeded",  # of predictions of a file, whose rows are counted when it is done
    "internal",
]
OF_USERS: tuple[Task, ...] = ("train", "predict")  # what a user makes, sees and cancels
RETRIABLE = {"worker_lost", "time_limit", "storage_full", "quota_exceeded", "internal", "out_of_memory"}
# Tables, not classes: this is what every POST /jobs runs.
_CREATED_AT = cast(Column[float], Job.__table__.c.created_at)
_EVENTS = cast(Table, Event.__table__)


def create(  # noqa: PLR0913 - a job has many sides
    tx: db.Tx,
    dataset: Dataset | None,
    *,
    task: Task,
    config: dict[str, Any],
    manifest: dict[str, Any],
    name: str | None = None,
    priority: int = 0,
    retry_of: str | None = None,
    max_queue: int = 100_000,
    by: Caller | None = None,
    job_id: str | None = None,
    project_id: str = DEFAULT_PROJECT,
) -> Job:
    """A queued job; the commit is the promise that it will end. One without a dataset names its project itself."""
    backlog.admit(tx, max_queue)
    values = {
        "id": job_id or ids.new("job"),
        "task": task,
        "state": State.queued,
        "dataset_id": dataset.id if dataset else None,
        "project_id": dataset.project_id if dataset else project_id,
        "name": name,
        "config": config,
        "manifest": manifest,
        "rank": -priority,
        "last_event": 1,
        "attempts": 0,
        "retry_of": retry_of,
        "made_by": by.key_id if by else None,
        "request_id": by.request_id if by else None,
    }
    first = {"job_id": values["id"], "number": 1, "type": "state", "data": {"state": State.queued}}
    created_at = inserts.both(tx, _CREATED_AT, values, _EVENTS, first)
    return Job(**values, created_at=created_at)


def find(tx: Session, job_id: str, *tasks: Task) -> Job:
    """The job of this id, if it is of one of these tasks; of a user's unless said otherwise."""
    job = tx.get(Job, job_id)
    if job is None or job.task not in (tasks or OF_USERS):
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
        metrics.finished(tx, State.cancelled)
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


def retry(
    tx: Session,
    job_id: str,
    *,
    max_queue: int,
    origin: dict[str, Any] | None = None,
    by: Caller | None = None,
) -> tuple[Job, bool]:
    """A job like one that failed or was cancelled, which stays as it ended; and whether it is new.

    One retry lives or has succeeded at a time: asked again, however often and by whomever, the answer is that one.
    """
    old = find(tx, job_id)
    tx.refresh(old, with_for_update=True)  # of two who ask at once, the second sees what the first made
    if not retriable(old):
        raise errors.Conflict(f"job {job_id} is {old.state}, only failed and cancelled jobs can be retried")
    if (before := retried(tx, old)) is not None:
        return before, False
    dataset = tx.get(Dataset, old.dataset_id) if old.dataset_id else None
    if dataset is None and not old.config.get("source"):  # predictions for a file need no dataset
        raise errors.Conflict(f"the dataset of job {job_id} was deleted", code="dataset_deleted")
    config = old.config | ({"predictions_per_day": daily(by)} if old.config.get("source") else {})
    again = create(
        tx,
        dataset,
        task="predict" if old.task == "predict" else "train",
        config=config,
        manifest=old.manifest | {"config": config, "origin": origin or {}},
        name=old.name,
        priority=-old.rank,
        retry_of=old.id,
        max_queue=max_queue,
        by=by,
        project_id=old.project_id,
    )
    return again, True


def daily(by: Caller | None) -> int | None:
    """The rows that whoever asks may have predicted a day: those of a file are counted when it is done."""
    return None if by is None else by.quotas.predictions_per_day


def retriable(job: Job) -> bool:
    """Whether the job ended so that another one like it makes sense."""
    return job.state in (State.failed, State.cancelled)


def retried(tx: Session, old: Job) -> Job | None:
    """The retry of a job that lives or has succeeded; retries are younger, and of the same dataset."""
    younger = (Job.dataset_id == old.dataset_id, Job.id > old.id) if old.dataset_id else (Job.id > old.id,)
    good = Job.state.not_in((State.failed, State.cancelled))
    return tx.scalars(select(Job).where(*younger, Job.retry_of == old.id, good).limit(1)).first()


def remove(tx: Session, job_id: str) -> Job:
    """Delete the row of predictions that have ended; as it was, for the audit."""
    job = find(tx, job_id, "predict")
    tx.refresh(job, with_for_update=True)
    if not ended(job):
        raise errors.Conflict(f"job {job_id} is {job.state}: cancel it first")
    live = select(Job).where(Job.task == "predict", Job.state.not_in(ENDED))
    if any(other.config.get("source") == job_id for other in tx.scalars(live)):
        raise errors.Conflict(f"a retry of job {job_id} still needs its file")
    tx.delete(job)
    return job


def ended(job: Job) -> bool:
    """Whether the job's state is final."""
    return job.state in ENDED


def changed(tx: Session, change: Update) -> Job | None:
    """Apply a compare-and-set; None: the row was not as expected."""
    return tx.scalar(change.returning(Job), execution_options={"populate_existing": True})
