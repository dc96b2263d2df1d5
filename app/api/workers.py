"""The workers, for admins: who is there, and what they do. They work for all projects."""

from typing import Annotated, Literal

from fastapi import APIRouter, Depends
from sqlalchemy import select

from app.api import deps, problems, strict
from app.core import workers
from app.core.db import now
from app.core.ownership import Worker

router = APIRouter(
    prefix="/workers", route_class=strict.Strict, tags=["workers"], responses=problems.documented()
)


class WorkerOut(deps.Listed):
    """A worker; `silent`: it did not end, and has told nothing for a minute."""

    host: str
    process: int
    state: Literal["idle", "busy", "silent"]
    jobs: list[str]  # of the caller's project; a worker may be busy for another
    device: str  # as set: `auto` is settled by each training
    slots: int  # trainings at once
    version: str
    created_at: deps.Time
    seen_at: deps.Time  # every 15 seconds


def _busy(whole: deps.All) -> frozenset[str]:
    """The processes that hold a job of any project; what else they hold stays here."""
    with whole.read() as tx:
        return frozenset(workers.held(tx))


Busy = Annotated[frozenset[str], Depends(_busy)]


@router.get("", summary="The workers of the service, newest first")
def index(database: deps.Db, busy: Busy, cursor: deps.Paging) -> deps.Page[WorkerOut]:
    """Who is busy is known of all projects; which jobs are named, of the caller's alone."""
    with database.read() as tx:
        rows, more = cursor.rows(tx, select(Worker), Worker)
        ours = workers.held(tx)
        clock = tx.scalar(select(now())) or 0.0
    return deps.page([_out(row, ours, busy, clock) for row in rows], more)


def _out(row: Worker, ours: dict[str, list[str]], busy: frozenset[str], clock: float) -> WorkerOut:
    place, process, _ = row.owner.rsplit(":", 2)
    processes = [f"{place}:{one}" for one in row.facts["processes"]]
    jobs = [job for one in processes for job in ours.get(one, ())]
    silent = clock - row.seen_at > workers.SILENT_SECONDS
    return WorkerOut.model_validate(
        {name: row.facts[name] for name in ("device", "slots", "version")}
        | {"id": row.id, "host": place.partition(":")[0], "process": process, "jobs": jobs}
        | {"state": "silent" if silent else "busy" if busy.intersection(processes) else "idle"}
        | {"created_at": row.created_at, "seen_at": row.seen_at}
    )
