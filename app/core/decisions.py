"""What people said of labels: one decision a row of a job, the latest; who and when is part of it."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from sqlalchemy import Connection, Insert, delete, func, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from app.core import errors
from app.core.callers import BOOTSTRAP, Caller
from app.core.tables import Dataset, Decision, Intake, Job
from c2s.judging.reviews import Decided

Word = Literal["accept", "keep", "relabel"]
VALUES = ("decision", "label", "decided_by", "decided_at")


class Choice(NamedTuple):
    """A row, and the class that it is to have; without one the row is undecided again."""

    row: int
    decision: Word | None
    label: int


def record(
    tx: Connection, job_id: str, project_id: str, choices: Sequence[Choice], *, by: Caller | None
) -> None:
    """Write decisions over what was decided before; of two on one row the later counts."""
    latest = {choice.row: choice for choice in choices}
    made = [
        {
            "job_id": job_id,
            "project_id": project_id,
            **choice._asdict(),
            "decided_by": by.key_id if by else BOOTSTRAP,
        }
        for _, choice in sorted(latest.items())  # in one order, so that two who write at once cannot lock up
        if choice.decision is not None
    ]
    gone = [choice.row for choice in latest.values() if choice.decision is None]
    if made:
        tx.execute(_over(tx), made)
    if gone:
        tx.execute(delete(Decision).where(Decision.job_id == job_id, Decision.row.in_(gone)))


def _over(tx: Connection) -> Insert:
    made = (postgresql if tx.dialect.name == "postgresql" else sqlite).insert(Decision)
    new = {name: made.excluded[name] for name in VALUES}
    written: Insert = made.on_conflict_do_update(index_elements=["job_id", "row"], set_=new)
    return written


def of(tx: Session, job_id: str) -> Decided:
    """All decisions of a job: rows in the dataset's order, and the label of each."""
    found = tx.execute(
        select(Decision.row, Decision.label).where(Decision.job_id == job_id).order_by(Decision.row)
    ).all()
    rows, labels = zip(*found, strict=True) if found else ((), ())
    return Decided(np.array(rows, dtype=np.int64), np.array(labels, dtype=np.int32))


def count(tx: Session, job_id: str) -> int:
    """How many rows of a job are decided."""
    return tx.scalar(select(func.count()).select_from(Decision).where(Decision.job_id == job_id)) or 0


def unused(tx: Session, job_id: str) -> int:
    """How many decisions there are, if any is younger than every dataset that was made of them; else none."""
    made = select(func.max(Dataset.created_at)).where(
        Dataset.job_id == job_id, Dataset.state != Intake.refused
    )
    latest = select(func.max(Decision.decided_at)).where(Decision.job_id == job_id)
    if (tx.scalar(latest) or 0.0) <= (tx.scalar(made) or 0.0):
        return 0
    return count(tx, job_id)


def unused_of(tx: Session, dataset_id: str) -> int:
    """The same of all jobs of a dataset together."""
    decided = select(Decision.job_id).join(Job, Job.id == Decision.job_id).where(Job.dataset_id == dataset_id)
    return sum(unused(tx, job_id) for job_id in tx.scalars(decided.distinct()).all())


def hold_model(tx: Session, job_id: str) -> None:
    """Refuse to take the judged labels away from decisions that nothing was made of."""
    _hold(unused(tx, job_id), f"job {job_id}", "the model's files", code="model_reviewed")


def hold_dataset(tx: Session, dataset_id: str) -> None:
    """Refuse to take the rows away from decisions that nothing was made of."""
    _hold(unused_of(tx, dataset_id), f"dataset {dataset_id}", "its rows", code="dataset_reviewed")


def _hold(number: int, owner: str, needed: str, *, code: str) -> None:
    if number:
        detail = (
            f"{number} labels of {owner} were decided on, and no dataset was made of that, which needs {needed}."
            " POST /jobs/{id}/corrected-dataset makes one; ?force=true deletes all the same"
        )
        raise errors.Conflict(detail, code=code)


def page(tx: Session, job_id: str, *, after: int, limit: int) -> Sequence[Decision]:
    """Decisions on rows beyond one, in the dataset's order."""
    chosen = select(Decision).where(Decision.job_id == job_id, Decision.row > after)
    return tx.scalars(chosen.order_by(Decision.row).limit(limit)).all()


def on(tx: Session, job_id: str, rows: Sequence[int]) -> dict[int, Decision]:
    """The decisions on these rows."""
    chosen = select(Decision).where(Decision.job_id == job_id, Decision.row.in_(rows))
    return {found.row: found for found in tx.scalars(chosen)}
