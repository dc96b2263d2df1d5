"""Pages of jobs: where one stands, and what it found."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from app.api import deps, jobs, problems
from app.core import events as records
from app.core import models
from app.core.db import Database
from app.core.tables import ENDED, Dataset
from app.ui import charts, rendering, reports, words

router = APIRouter(
    prefix="/ui/jobs", route_class=rendering.Paged, include_in_schema=False, responses=problems.documented()
)
LINES = 40  # of the log
After = Annotated[str | None, Query(pattern=deps.AFTER)]


@router.get("")
def index(request: Request, database: deps.Db, after: After = None) -> Response:
    found = jobs.index(database, deps.Cursor(limit=50, after=after))
    return rendering.page(request, "jobs.html", jobs=found, names=_names(database, found.data))


def _names(database: Database, found: list[jobs.JobOut]) -> dict[str, str]:
    """The names of the datasets that jobs were made for."""
    with database.read() as tx:
        wanted = {job.dataset_id for job in found if job.dataset_id}
        return {one.id: one.name for key in wanted if (one := tx.get(Dataset, key)) is not None}


@router.get("/{job_id}")
def show(request: Request, job_id: deps.JobId, database: deps.Db, store: deps.Files) -> Response:
    job = jobs.show(job_id, database)
    found = reports.transition(database, store, job_id) if job.task == "train" else None
    names = _names(database, [job])
    return rendering.page(
        request,
        "job.html",
        job=job,
        title=job.name or names.get(job.dataset_id or "") or job.id,
        dataset=names.get(job.dataset_id or ""),
        ended=job.state in ENDED,
        phases=reports.phases(job) if job.task == "train" else [],
        losses=reports.losses(database, job_id),
        accuracy=charts.curves(
            reports.series(database, job_id, "accuracy"),
            "Agreement with the labels of the rows held out",
            narrow=True,
        ),
        notes=_notes(database, job, found["learnability"]["warnings"] if found else ()),
        log=_log(database, job.id),
        found=found,
        heat=reports.heat(found) if found else "",
        report=reports.worth(database, store, job_id) if found else None,
    )


def _notes(database: Database, job: jobs.JobOut, told: Sequence[str]) -> list[str]:
    """What the job remarked on its way, and what its model's card does, but what the noise report says anyway."""
    with database.read() as tx:
        said = [event.data.get("message") for event in records.of_type(tx, job.id, "note")]
        card = models.find(tx, job.model_id).card if job.model_id else {}
    return list(
        dict.fromkeys(str(note) for note in [*said, *card.get("notes", ())] if note and note not in told)
    )


def _log(database: Database, job_id: str) -> list[tuple[str, str]]:
    """When and what, of late; how far it is stands above."""
    with database.read() as tx:
        found = records.tail(tx, job_id, LINES, but=("progress",))
    return [(words.clock(one.at), words.event(one.type, one.data)) for one in found]
