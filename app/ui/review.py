"""The rows whose labels are likely wrong, each with its own content, to be decided on one after the other."""

from typing import Annotated, Any, Literal

import orjson
from fastapi import APIRouter, Query, Request, Response

from app.api import datasets, deps, issues, jobs, problems
from app.core.db import Database
from app.core.storage import Store
from app.ui import contents, rendering
from c2s import naming

router = APIRouter(
    prefix="/ui/jobs", route_class=rendering.Paged, include_in_schema=False, responses=problems.documented()
)
SHOWN = 24
SHOWS: dict[str, bool | None] = {"": None, "all": None, "undecided": False, "decided": True}
Name = Annotated[str | None, Query(max_length=1000)]


@router.get("/{job_id}/review")
def show(
    request: Request,
    job_id: deps.JobId,
    *,
    database: deps.Db,
    store: deps.Files,
    given: Name = None,
    suggested: Name = None,
    rows: Annotated[Literal["", "all", "undecided", "decided"], Query()] = "",
    after: Annotated[str | None, Query(pattern=deps.RANK)] = None,
) -> Response:
    job = jobs.show(job_id, database)
    wanted = {"given": given or None, "suggested": suggested or None}
    answer = issues.index(
        job_id,
        database=database,
        store=store,
        given=wanted["given"],
        suggested=wanted["suggested"],
        decided=SHOWS[rows],
        limit=SHOWN,
        after=after,
    )
    found: dict[str, Any] = orjson.loads(answer.body)
    dataset = _dataset(database, job.dataset_id)
    return rendering.page(
        request,
        "review.html",
        job=job,
        found=found,
        wanted=wanted | {"rows": rows if SHOWS[rows] is not None else None},
        dataset=dataset,
        names=_names(database, store, job_id),
        contents=contents.of(store, dataset, [one["row"] for one in found["data"]]),
    )


def _dataset(database: Database, dataset_id: str | None) -> datasets.DatasetOut | None:
    return None if dataset_id is None else datasets.show_row(database, dataset_id)


def _names(database: Database, store: Store, job_id: str) -> naming.Naming:
    """The labels as they came, and the classes as the job judged them: those that it merged are one."""
    with issues.judged(issues.labels_of(database, store, job_id)) as found:
        return found.naming
