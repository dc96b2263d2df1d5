"""Several jobs side by side: settings, noise, curves."""

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from markupsafe import Markup

from app.api import deps, jobs, problems
from app.core import errors, ids
from app.core.db import Database
from app.core.storage import Store
from app.ui import charts, rendering, reports

router = APIRouter(
    prefix="/ui/compare",
    route_class=rendering.Paged,
    include_in_schema=False,
    responses=problems.documented(),
)
MOST = 6


@dataclass(frozen=True)
class Column:
    """A job, and what it found."""

    job: jobs.JobOut
    title: str
    found: dict[str, Any] | None
    heat: Markup
    accuracy: float | None  # agreement with the noisy labels held out, at the end of its last training


@router.get("")
def show(
    request: Request,
    database: deps.Db,
    store: deps.Files,
    job: Annotated[list[str] | None, Query(max_length=MOST)] = None,
) -> Response:
    chosen = list(dict.fromkeys(job or []))
    if not all(ids.valid("job", one) for one in chosen):
        raise errors.NotFound("there is no such job")
    columns = [_column(database, store, one) for one in chosen]
    lines = [
        charts.Line(column.title, points[-1].points)
        for column in columns
        if (points := reports.series(database, column.job.id, "accuracy"))
    ]
    picture = charts.curves(lines, "Agreement with the labels of the rows held out, last training of each")
    return rendering.page(request, "compare.html", columns=columns, accuracy=picture)


def _column(database: Database, store: Store, job_id: str) -> Column:
    job = jobs.show(job_id, database)
    found = reports.transition(database, store, job_id)
    lines = reports.series(database, job_id, "accuracy")
    method = str(job.config.get("method", {}).get("name", ""))
    title = f"{job.name or method} …{job.id[-4:]}"
    last = lines[-1].points[-1][1] if lines else None
    return Column(job, title, found, reports.heat(found) if found else Markup(""), last)
