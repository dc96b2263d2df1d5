"""Several jobs side by side: settings, noise, curves."""

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from markupsafe import Markup

from app.api import deps, jobs, problems
from app.core import errors, ids
from app.core.db import Database
from app.core.storage import Store
from app.core.tables import Dataset
from app.ui import charts, rendering, reports, words

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
    title: str  # its method, and the end of its id where others have the same one
    found: dict[str, Any] | None
    heat: Markup
    worth: dict[str, Any] | None  # what its classifier is worth, each figure with an interval
    dataset: str | None  # its name; None: deleted


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
    found = [jobs.show(one, database) for one in chosen]
    methods = [words.choice(one.config, "method") for one in found]
    columns = [
        _column(database, store, one, method if methods.count(method) == 1 else f"{one.id[-4:]} {method}")
        for one, method in zip(found, methods, strict=True)
    ]
    return rendering.page(
        request,
        "compare.html",
        columns=columns,
        several=len({column.job.dataset_id for column in columns}) > 1,
        accuracy=charts.curves(
            _lines(database, columns, "accuracy"), "Agreement with the labels of the rows held out"
        ),
        loss=charts.curves(_lines(database, columns, "loss"), "Loss on the training rows"),
    )


def _lines(database: Database, columns: list[Column], metric: str) -> list[charts.Line]:
    """The last training of each job."""
    return [
        charts.Line(column.title, lines[-1].points)
        for column in columns
        if (lines := reports.series(database, column.job.id, metric))
    ]


def _column(database: Database, store: Store, job: jobs.JobOut, title: str) -> Column:
    found = reports.transition(database, store, job.id)
    told = reports.worth(database, store, job.id) if found else None
    with database.read() as tx:
        dataset = tx.get(Dataset, job.dataset_id) if job.dataset_id else None
    return Column(
        job,
        title,
        found,
        reports.heat(found) if found else Markup(""),
        told["worth"] if told else None,
        dataset.name if dataset else None,
    )
