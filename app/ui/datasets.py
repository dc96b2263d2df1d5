"""Pages of datasets: what was found in the file, and a look at the rows."""

from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Query, Request, Response

from app.api import datasets, deps, jobs, problems
from app.core import decisions
from app.core.db import Database
from app.ui import charts, previews, rendering

router = APIRouter(
    prefix="/ui/datasets",
    route_class=rendering.Paged,
    include_in_schema=False,
    responses=problems.documented(),
)
After = Annotated[str | None, Query(pattern=deps.AFTER)]


@router.get("")
def index(request: Request, database: deps.Db, after: After = None) -> Response:
    found = datasets.index(database, deps.Cursor(limit=50, after=after))
    return rendering.page(request, "datasets.html", datasets=found)


@router.get("/{dataset_id}")
def show(request: Request, dataset_id: deps.DatasetId, database: deps.Db, store: deps.Files) -> Response:
    dataset = _dataset(database, dataset_id)
    report = _report(database, dataset_id) if dataset.state != "validating" else None
    ready = dataset.state == "ready"
    counts = [(entry["name"], entry["rows"]) for entry in report["classes"]] if report and ready else []
    with database.read() as tx:
        decided = decisions.unused_of(tx, dataset_id)
    return rendering.page(
        request,
        "dataset.html",
        dataset=dataset,
        report=report,
        counts=charts.bars(counts, "Rows of each class") if counts else "",
        decided=decided,
        preview=previews.of(store, dataset) if ready else None,
        jobs=jobs.index(database, deps.Cursor(limit=20), dataset_id=dataset_id).data,
    )


def _dataset(database: Database, dataset_id: str) -> datasets.DatasetOut:
    answer = datasets.show(dataset_id, database)
    return (
        answer
        if isinstance(answer, datasets.DatasetOut)
        else datasets.DatasetOut(**orjson.loads(answer.body))
    )


def _report(database: Database, dataset_id: str) -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads(datasets.report(dataset_id, database).body)
    return found
