"""Trainings: made, watched, cancelled, tried again. The commit is the promise; nothing is published from here."""

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic import Field
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.api import deps, plans, problems, strict
from app.core import datasets, ids, jobs, receipts
from app.core.db import Database
from app.core.tables import Job, Model, State
from c2s import config

router = APIRouter(prefix="/jobs", route_class=strict.Strict, tags=["jobs"], responses=problems.documented())


class JobIn(config.TrainConfig):
    """A training; every field but `dataset_id` has a default."""

    dataset_id: Annotated[str, Field(pattern=ids.pattern("ds"))]
    name: Annotated[str | None, Field(min_length=1, max_length=200)] = None  # of the model
    priority: Annotated[int, Field(ge=-100, le=100)] = 0  # larger first

    def training(self) -> config.TrainConfig:
        """The part that the library understands."""
        return config.TrainConfig(**{name: getattr(self, name) for name in config.TrainConfig.model_fields})


class Progress(deps.Out):
    """How far a running job is."""

    fraction: float | None = None
    phase: str | None = None
    epoch: int | None = None
    epochs: int | None = None
    metrics: dict[str, Any] | None = None
    eta_seconds: float | None = None
    elapsed_seconds: float | None = None


class Failure(deps.Out):
    """Why a job failed."""

    code: jobs.Code
    message: str
    phase: str | None
    retriable: bool
    log: list[str]  # the last lines


class JobOut(deps.Listed):
    """A training and how far it is."""

    state: State
    phase: str | None
    progress: Progress | None
    dataset_id: str | None  # None once the dataset is deleted; the manifest still names it
    model_id: str | None
    name: str | None
    priority: int
    attempts: int
    error: Failure | None
    retry_of: str | None
    config: dict[str, Any]
    created_at: deps.Time
    started_at: deps.Time | None
    finished_at: deps.Time | None


class Dry(deps.Out):
    """What a job would run, had it been made."""

    config: dict[str, Any]
    forecast: plans.Forecast


def _out(job: Job, model_id: str | None) -> JobOut:
    own = {name: getattr(job, name) for name in JobOut.model_fields if hasattr(job, name)}
    return JobOut.model_validate(own | {"priority": -job.rank, "model_id": model_id})


def _outs(tx: Session, found: Sequence[Job]) -> list[JobOut]:
    chosen = select(Model.job_id, Model.id).where(Model.job_id.in_([job.id for job in found]))
    models = {row.job_id: row.id for row in tx.execute(chosen)}
    return [_out(job, models.get(job.id)) for job in found]


def _show(database: Database, job_id: str) -> JobOut:
    with database.read() as tx:
        return _outs(tx, [jobs.find(tx, job_id)])[0]


@router.post(
    "",
    status_code=202,
    response_model=JobOut,
    summary="Train on a dataset",
    responses={
        200: {"model": Dry, "description": "With dry_run: what would run, and a forecast"},
        202: {"description": "The job will run"},
        **problems.documented(400, 409, 429),
    },
)
def create(
    body: JobIn,
    response: Response,
    *,
    settings: deps.Config,
    database: deps.Db,
    dry_run: Annotated[bool, Query(description="only validate and forecast")] = False,
    key: deps.Key = None,
) -> Any:
    if dry_run:
        return _dry(database, body)

    request = receipts.digest("POST /jobs", body.model_dump_json())
    if (before := deps.replayed(database, key, request)) is not None:  # even if its dataset is gone by now
        response.headers["Location"] = f"/jobs/{before.resource}"
        return _show(database, before.resource)
    with (
        database.read() as tx
    ):  # outside the transaction: a ready dataset never changes, and writers take turns
        dataset = datasets.ready(tx, body.dataset_id)
    chosen = plans.resolve(body.training(), dataset)
    settled, manifest = chosen.model_dump(mode="json"), plans.manifest(chosen, dataset, settings)
    fresh: list[JobOut] = []

    def make(tx: Session) -> deps.Made:
        job = jobs.create(
            tx,
            dataset,
            task="train",
            config=settled,
            manifest=manifest,
            name=body.name,
            priority=body.priority,
            max_queue=settings.max_queue,
        )
        fresh.append(_out(job, None))
        return deps.Made(job.id, 202)

    made = deps.once(database, key, request, make)
    response.headers["Location"] = f"/jobs/{made.resource}"
    return _show(database, made.resource) if made.again else fresh[0]


def _dry(database: Database, body: JobIn) -> Response:
    with database.read() as tx:
        dataset = datasets.ready(tx, body.dataset_id)
    chosen = plans.resolve(body.training(), dataset)
    dry = Dry(config=chosen.model_dump(mode="json"), forecast=plans.forecast(chosen, dataset))
    return Response(dry.model_dump_json(), media_type=strict.JSON)


@router.get("", summary="Jobs, newest first")
def index(
    database: deps.Db,
    cursor: deps.Paging,
    state: Annotated[State | None, Query()] = None,
    dataset_id: Annotated[str | None, Query(pattern=ids.pattern("ds"))] = None,
) -> deps.Page[JobOut]:
    chosen = select(Job).where(Job.task == "train")
    if state is not None:
        chosen = chosen.where(Job.state == state)
    if dataset_id is not None:
        chosen = chosen.where(Job.dataset_id == dataset_id)
    with database.read() as tx:
        rows, more = cursor.rows(tx, chosen, Job)
        return deps.page(_outs(tx, rows), more)


@router.get("/{job_id}", summary="A job")
def show(job_id: deps.JobId, database: deps.Db) -> JobOut:
    return _show(database, job_id)


@router.post(
    "/{job_id}/cancel",
    summary="Ask a job to stop",
    responses={
        200: {"description": "The job is cancelled"},
        202: {"model": JobOut, "description": "The job will stop soon"},
        **problems.documented(409),
    },
)
def cancel(job_id: deps.JobId, response: Response, database: deps.Db) -> JobOut:
    with database.begin() as tx:
        jobs.find(tx, job_id)  # only trainings are a user's to cancel
        job = jobs.request_cancel(tx, job_id)
    response.status_code = 200 if job.state == State.cancelled else 202
    return _out(job, None)


@router.post(
    "/{job_id}/retry",
    status_code=202,
    summary="Make a new job like one that failed or was cancelled",
    responses={202: {"description": "The new job will run"}, **problems.documented(400, 409, 429)},
)
def retry(
    job_id: deps.JobId, response: Response, settings: deps.Config, database: deps.Db, key: deps.Key = None
) -> JobOut:
    def make(tx: Session) -> deps.Made:
        return deps.Made(jobs.retry(tx, job_id, max_queue=settings.max_queue).id, 202)

    made = deps.once(database, key, receipts.digest(f"POST /jobs/{job_id}/retry"), make)
    response.headers["Location"] = f"/jobs/{made.resource}"
    return _show(database, made.resource)
