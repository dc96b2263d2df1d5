"""The rows whose labels are likely wrong, to be looked at one after the other."""

from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Query, Request, Response

from app.api import datasets, deps, issues, jobs, problems
from app.core.db import Database
from app.core.storage import Store
from app.ui import previews, rendering
from c2s import slices

router = APIRouter(
    prefix="/ui/jobs", route_class=rendering.Paged, include_in_schema=False, responses=problems.documented()
)
SHOWN = 25
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
    after: Annotated[str | None, Query(pattern=r"^[0-9]{1,9}$")] = None,
) -> Response:
    job = jobs.show(job_id, database)
    wanted = {"given": given or None, "suggested": suggested or None}
    answer = issues.index(job_id, database=database, store=store, **wanted, limit=SHOWN, after=after)
    found: dict[str, Any] = orjson.loads(answer.body)
    dataset = _dataset(database, job.dataset_id)
    return rendering.page(
        request,
        "review.html",
        job=job,
        found=found,
        wanted=wanted,
        classes=dataset.classes if dataset else [],
        pictures=_pictures(store, dataset, [one["id"] for one in found["data"]]),
    )


def _dataset(database: Database, dataset_id: str | None) -> datasets.DatasetOut | None:
    if dataset_id is None:
        return None
    answer = datasets.show(dataset_id, database)
    return datasets.DatasetOut(**orjson.loads(answer.body))


def _pictures(store: Store, dataset: datasets.DatasetOut | None, ids: list[str]) -> dict[str, str]:
    """Thumbnails by row id, where the ids are the rows' own numbers."""
    if dataset is None or dataset.kind != "image" or dataset.bytes > previews.MOST_BYTES:
        return {}
    if (dataset.options.get("id") or dataset.options.get("format")) not in (None, "auto", "npz"):
        return {}
    array = slices.Array(store.open_dataset(dataset.id) / "x.npy")
    rows = [(one, int(one)) for one in ids if one.isdecimal() and int(one) < len(array)]
    return {one: previews.picture(array.read(place, place + 1)[0]) for one, place in rows}
