"""What a project may use: bytes kept, jobs a day, jobs that wait, rows predicted a day.

The count of a day is raised before anything else is looked at: its row is the lock under which the rest is exact.
"""

import functools
import time
from typing import Literal

from sqlalchemy import func, select, text
from sqlalchemy.orm import Session

from app.core import errors
from app.core.callers import Caller
from app.core.db import Tx
from app.core.ownership import Usage
from app.core.tables import IS_QUEUED, Dataset, Job

Kind = Literal["jobs", "uploads", "predictions"]
DAY_SECONDS = 86400
SOON = 60  # seconds until it may be worth another try where only deleting or waiting helps
ADD = text(
    "INSERT INTO usage (project_id, day, kind, amount) VALUES (:project, :day, :kind, :amount)"
    " ON CONFLICT (project_id, day, kind) DO UPDATE SET amount = usage.amount + excluded.amount RETURNING amount"
)


class Exceeded(errors.TooMany):
    code, title = "quota_exceeded", "A quota of the project is used up"


def today() -> str:
    """The day in UTC, as the table names it."""
    return _day(int(time.time() // DAY_SECONDS))


@functools.lru_cache(2)
def _day(number: int) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(number * DAY_SECONDS))


def exceeded(quota: str, limit: int, retry_after: int | None = None) -> Exceeded:
    """The refusal; a daily quota says when the day is over."""
    fault = {"code": quota, "detail": f"the limit is {limit}"}
    left = DAY_SECONDS - int(time.time()) % DAY_SECONDS if retry_after is None else retry_after
    return Exceeded(
        f"{quota} of the project is used up: the limit is {limit}", errors=[fault], retry_after=left
    )


def add(tx: Tx, project_id: str, kind: Kind, amount: int) -> int:
    """Raise the count of today, and what it is now."""
    values = {"project": project_id, "day": today(), "kind": kind, "amount": amount}
    return int(tx.execute(ADD, values).scalar_one())


def used(tx: Session, project_id: str, kind: Kind) -> int:
    """The count of today."""
    found = tx.get(Usage, (project_id, today(), kind))
    return 0 if found is None else found.amount


def queued(tx: Tx, project_id: str) -> int:
    """How many jobs of the project wait."""
    waiting = select(func.count()).select_from(Job).where(Job.project_id == project_id, IS_QUEUED)
    return tx.scalar(waiting) or 0


def stored(tx: Tx, project_id: str) -> int:
    """The bytes of the files that the project has uploaded and not deleted."""
    return int(tx.scalar(select(func.sum(Dataset.bytes)).where(Dataset.project_id == project_id)) or 0)


def counts_jobs(caller: Caller | None) -> bool:
    """Whether a job of this caller's has to be counted."""
    return caller is not None and (
        caller.quotas.jobs_per_day is not None or caller.quotas.jobs_queued is not None
    )


def take_job(tx: Tx, caller: Caller | None) -> None:
    """Count a job that was just made, or undo it by refusing; without a limit this costs nothing."""
    if caller is None or not counts_jobs(caller):
        return
    count, quotas = add(tx, caller.project_id, "jobs", 1), caller.quotas
    if quotas.jobs_per_day is not None and count > quotas.jobs_per_day:
        raise exceeded("jobs_per_day", quotas.jobs_per_day)
    if quotas.jobs_queued is not None and queued(tx, caller.project_id) > quotas.jobs_queued:
        raise exceeded("jobs_queued", quotas.jobs_queued, SOON)


def take_predictions(tx: Tx, caller: Caller | None, rows: int) -> None:
    """Count rows that a job will predict, or undo it by refusing."""
    if caller is not None and rows:
        take_rows(tx, caller.project_id, rows, caller.quotas.predictions_per_day)


def take_rows(tx: Tx, project_id: str, rows: int, limit: int | None) -> None:
    """The same for a project under a limit that was its caller's."""
    total = add(tx, project_id, "predictions", rows)
    if limit is not None and total > limit:
        raise exceeded("predictions_per_day", limit)


def check_left(tx: Session, caller: Caller | None) -> None:
    """Refuse to begin where nothing may be predicted any more today."""
    if caller is not None and (limit := caller.quotas.predictions_per_day) is not None:
        left(tx, caller.project_id, limit)


def left(tx: Session, project_id: str, limit: int) -> int:
    """How many rows the project may still predict today; none is a refusal."""
    rows = limit - used(tx, project_id, "predictions")
    if rows <= 0:
        raise exceeded("predictions_per_day", limit)
    return rows


def take_bytes(tx: Tx, caller: Caller | None, amount: int) -> None:
    """Count a file that is about to be kept, or refuse it."""
    if caller is None or (limit := caller.quotas.stored_bytes) is None:
        return
    add(tx, caller.project_id, "uploads", 1)
    if stored(tx, caller.project_id) + amount > limit:
        raise exceeded("stored_bytes", limit, SOON)


def check_room(tx: Tx, caller: Caller | None, amount: int) -> None:
    """Refuse a file before it is sent, if what its sender announces is too much already."""
    if caller is None or (limit := caller.quotas.stored_bytes) is None:
        return
    if stored(tx, caller.project_id) + amount > limit:
        raise exceeded("stored_bytes", limit, SOON)
