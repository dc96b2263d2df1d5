"""For admins: the queue, the keys of the project, and what was done lately."""

from fastapi import APIRouter, Request, Response
from sqlalchemy import func, select

from app.api import audit, deps, keys, problems
from app.core.db import Database
from app.core.tables import Job, State
from app.ui import rendering

router = APIRouter(
    prefix="/ui/admin", route_class=rendering.Paged, include_in_schema=False, responses=problems.documented()
)


@router.get("")
def show(request: Request, database: deps.Db) -> Response:
    return rendering.page(
        request,
        "admin.html",
        keys=keys.index(database, deps.Cursor(limit=100)).data,
        audit=audit.index(database, deps.Cursor(limit=20)).data,
        counts=_counts(database),
        workers=_workers(database),
    )


def _counts(database: Database) -> list[tuple[str, int]]:
    """Trainings of the project by state, those that never end included."""
    with database.read() as tx:
        rows = tx.execute(select(Job.state, func.count()).where(Job.task == "train").group_by(Job.state))
        found = {str(state): count for state, count in rows}
    return [(str(state), found.get(str(state), 0)) for state in State]


def _workers(database: Database) -> list[Job]:
    """The jobs that a worker holds, and who it is."""
    with database.read() as tx:
        return list(
            tx.scalars(select(Job).where(Job.owner.is_not(None), Job.state == State.running).limit(50))
        )
