"""For admins: the queue of the whole service, who works on what, the keys, and what was done lately."""

from typing import get_args

from fastapi import APIRouter, Request, Response
from sqlalchemy import ColumnElement, select

from app.api import audit, deps, keys, problems, workers
from app.core import readiness
from app.core.census import Census, Count
from app.core.db import Database
from app.core.tables import ACTIVE, IS_ACTIVE, IS_QUEUED, Job, State, Task
from app.ui import rendering

router = APIRouter(
    prefix="/ui/admin", route_class=rendering.Paged, include_in_schema=False, responses=problems.documented()
)
SHOWN = 50


@router.get("")
def show(request: Request, database: deps.Db, busy: workers.Busy) -> Response:
    census: Census = request.app.state.census
    count = census.count() or Count({}, {})
    known = workers.index(database, busy, deps.Cursor(limit=100)).data
    return rendering.page(
        request,
        "admin.html",
        keys=keys.index(database, deps.Cursor(limit=100)).data,
        audit=audit.index(database, deps.Cursor(limit=20)).data,
        states=[str(state) for state in State],
        counts={task: [count.jobs.get((task, str(state)), 0) for state in State] for task in get_args(Task)},
        ages=count.ages,
        idle=_idle(count),
        workers=known,
        holders={job: f"{one.host}, process {one.process}" for one in known for job in one.jobs},
        held=_jobs(database, IS_ACTIVE),
        waiting=_jobs(database, IS_QUEUED),
    )


def _idle(count: Count) -> bool:
    """Whether jobs wait for longer than a worker that is free would let them."""
    busy = sum(number for (_, state), number in count.jobs.items() if state in ACTIVE)
    return not busy and max(count.ages.values(), default=0.0) > readiness.PATIENCE_SECONDS


def _jobs(database: Database, which: ColumnElement[bool]) -> list[Job]:
    """Such jobs of the project, those that come first in front."""
    with database.read() as tx:
        return list(tx.scalars(select(Job).where(which).order_by(Job.rank, Job.id).limit(SHOWN)))
