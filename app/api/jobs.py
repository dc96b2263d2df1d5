"""Trainings: made, watched, cancelled, tried again. The commit is the promise; nothing is published from here."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from pydantic import AfterValidator, Field
from sqlalchemy import Connection, select
from sqlalchemy.orm import Session

from app.api import deps, ordering, plans, posts, problems, rules, scopes, states, strict
from app.core import audit, datasets, db, errors, ids, jobs, quotas, receipts, tracing
from app.core.db import Database
from app.core.settings import Settings
from app.core.tables import Dataset, Job, Model, State, Task
from c2s import config

router = APIRouter(prefix="/jobs", route_class=strict.Strict, tags=["jobs"], responses=problems.documented())


class JobIn(config.TrainConfig):
    """A training; every field but `dataset_id` has a default."""

    dataset_id: Annotated[str, Field(pattern=ids.pattern("ds"))]
    name: Annotated[
        str | None,
        Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$"),
        AfterValidator(rules.addressable),
    ] = None
    priority: Annotated[int, Field(ge=-100, le=100)] = 0  # larger first

    def training(self) -> config.TrainConfig:
        """The part that the library understands."""
        return config.TrainConfig(**{name: getattr(self, name) for name in config.TrainConfig.model_fields})


class JobOut(deps.Listed):
    """A training, or predictions for many rows, and how far it is."""

    task: Task
    state: State
    phase: str | None
    progress: states.Progress | None
    dataset_id: str | None  # None once the dataset is deleted; the manifest still names it
    model_id: str | None
    name: str | None
    priority: int
    attempts: int
    error: states.Failure | None
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
    made = {row.job_id: row.id for row in tx.execute(chosen)}
    return [_out(job, made.get(job.id)) for job in found]


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
    *,
    settings: deps.Config,
    database: deps.Db,
    known: deps.Datasets,
    dry_run: Annotated[bool, Query(description="only validate and forecast")] = False,
    key: deps.Key = None,
) -> Any:
    if dry_run:
        return _dry(database, body)
    request = "" if key is None else receipts.digest("POST /jobs", body.model_dump_json())
    if (before := posts.replayed(database, key, request)) is not None:  # even if its dataset is gone by now
        return _accepted(_show(database, before.resource))
    order = Order(settings, database, body, key, request)
    project = deps.project_of(database)
    try:
        return _accepted(order.place(known.find(body.dataset_id, project)))
    except errors.Conflict:  # the dataset was deleted, just now or while we remembered it
        known.forget()
        return _accepted(order.place(known.find(body.dataset_id, project)))


def _accepted(job: JobOut) -> Response:
    """The answer as bytes: what is built from our own schema need not be checked against it."""
    headers = {"Location": f"/jobs/{job.id}"}
    return Response(job.model_dump_json(), 202, headers=headers, media_type=strict.JSON)


@dataclass(frozen=True)
class Order:
    """A request for a job, read and not yet in the queue."""

    settings: Settings
    database: Database
    body: JobIn
    key: str | None
    request: str

    def place(self, dataset: Dataset) -> JobOut:
        """Make the job, once: what needs no transaction is settled before, as writers take turns."""
        chosen = plans.resolve(self.body.training(), dataset)
        manifest = plans.manifest(chosen, dataset, self.settings)
        fresh: list[Job] = []

        def make(tx: Connection) -> posts.Made:
            job = jobs.create(
                tx,
                dataset,
                task="train",
                config=manifest["config"],
                manifest=manifest,
                name=self.body.name,
                priority=self.body.priority,
                max_queue=self.settings.max_queue,
                by=self.database.caller,
            )
            quotas.take_job(tx, self.database.caller)
            fresh.append(job)
            return posts.Made(job.id, 202)

        alone = not quotas.counts_jobs(self.database.caller)
        made = posts.once(self.database, self.key, self.request, make, alone=alone)
        return _show(self.database, made.resource) if made.again else _out(fresh[-1], None)


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
    task: Annotated[Literal["train", "predict"], Query()] = "train",
) -> deps.Page[JobOut]:
    chosen = select(Job).where(Job.task == task)
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
def cancel(job_id: deps.JobId, response: Response, database: deps.Db, spare: deps.Spare) -> JobOut:
    def ask(tx: Session) -> Job:
        known = jobs.find(tx, job_id)  # the reading of a file is nobody's to cancel
        scopes.check_job(database.caller, known.task, "write")
        audit.note(tx, database.caller, "job.cancel", job_id)
        return jobs.request_cancel(tx, job_id)

    job = spare.pressing(database, ask)
    response.status_code = 200 if job.state == State.cancelled else 202
    return _out(job, None)


@router.post(
    "/{job_id}/retry",
    status_code=202,
    summary="Make a new job like one that failed or was cancelled",
    responses={
        200: {"model": JobOut, "description": "Retried before: the job that waits, runs or has succeeded"},
        202: {"description": "The new job will run"},
        **problems.documented(400, 409, 429),
    },
)
def retry(
    job_id: deps.JobId,
    response: Response,
    *,
    settings: deps.Config,
    database: deps.Db,
    store: deps.Files,
    key: deps.Key = None,
) -> JobOut:
    who, origin = database.caller, tracing.origin()  # here: another request's thread may do the writing
    request = receipts.digest(f"POST /jobs/{job_id}/retry")
    if posts.replayed(database, key, request) is None:
        ordering.check_retry(database, store, job_id)

    def make(tx: Connection) -> posts.Made:
        with db.mapped(tx, database.caller) as session:
            job, new = jobs.retry(session, job_id, max_queue=settings.max_queue, origin=origin, by=who)
        if new:
            quotas.take_job(tx, who)
            quotas.take_predictions(tx, who, (job.task == "predict" and job.config["rows"]) or 0)
        return posts.Made(job.id, 202 if new else 200)

    made = posts.once(database, key, request, make)
    response.status_code = made.status
    response.headers["Location"] = f"/jobs/{made.resource}"
    return _show(database, made.resource)
