"""The workers, for admins: who is there, and what they do. They work for all projects."""

from typing import Literal

from fastapi import APIRouter
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
    jobs: list[str]
    device: str  # as set: `auto` is settled by each training
    slots: int  # trainings at once
    version: str
    created_at: deps.Time
    seen_at: deps.Time  # every 15 seconds


@router.get("", summary="The workers of the service, newest first")
def index(database: deps.All, cursor: deps.Paging) -> deps.Page[WorkerOut]:
    with database.read() as tx:
        rows, more = cursor.rows(tx, select(Worker), Worker)
        held = workers.held(tx)
        clock = tx.scalar(select(now())) or 0.0
    return deps.page([_out(row, held, clock) for row in rows], more)


def _out(row: Worker, held: dict[str, list[str]], clock: float) -> WorkerOut:
    place, process, _ = row.owner.rsplit(":", 2)
    jobs = [job for one in row.facts["processes"] for job in held.get(f"{place}:{one}", ())]
    silent = clock - row.seen_at > workers.SILENT_SECONDS
    return WorkerOut.model_validate(
        {name: row.facts[name] for name in ("device", "slots", "version")}
        | {"id": row.id, "host": place.partition(":")[0], "process": process, "jobs": jobs}
        | {"state": "silent" if silent else "busy" if jobs else "idle"}
        | {"created_at": row.created_at, "seen_at": row.seen_at}
    )
