"""What happened to a job, as one sequence without gaps: the number comes from the job's own row, under its lock."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from sqlalchemy import insert, select, update
from sqlalchemy.orm import Session

from app.core.tables import Event, Job

Type = Literal["state", "phase", "progress", "epoch", "checkpoint", "note", "end"]
News = tuple[Type, Mapping[str, Any]]


def append(tx: Session, job_id: str, news: Sequence[News]) -> None:
    """Add events after the job's last one, in the caller's transaction."""
    if not news:
        return
    last = tx.scalar(
        update(Job)
        .where(Job.id == job_id)
        .values(last_event=Job.last_event + len(news))
        .returning(Job.last_event)
    )
    if last is None:
        raise LookupError(job_id)
    first = last - len(news) + 1
    rows = [
        {"job_id": job_id, "number": first + place, "type": kind, "data": dict(data)}
        for place, (kind, data) in enumerate(news)
    ]
    tx.execute(insert(Event), rows)


def page(tx: Session, job_id: str, *, after: int = 0, limit: int = 100) -> Sequence[Event]:
    """The events that follow number `after`, oldest first."""
    chosen = (
        select(Event).where(Event.job_id == job_id, Event.number > after).order_by(Event.number).limit(limit)
    )
    return tx.scalars(chosen).all()


def of_type(tx: Session, job_id: str, kind: Type) -> Sequence[Event]:
    """All events of a job of one type, oldest first."""
    chosen = select(Event).where(Event.job_id == job_id, Event.type == kind).order_by(Event.number)
    return tx.scalars(chosen).all()


def tail(tx: Session, job_id: str, limit: int, *, but: Sequence[Type] = ()) -> Sequence[Event]:
    """The last events of a job but those of some types, oldest first."""
    chosen = select(Event).where(Event.job_id == job_id, Event.type.not_in(but))
    return tx.scalars(chosen.order_by(Event.number.desc()).limit(limit)).all()[::-1]
