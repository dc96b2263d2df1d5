"""What a job found out: the transition matrix, the metrics of its epochs, its checkpoints, its manifest."""

import csv
import io
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, Header, Query, Response
from sqlalchemy import select

from app.api import deps, plans, problems, strict
from app.core import errors, events, jobs
from app.core.db import Database
from app.core.storage import Store
from app.core.tables import Job, Model
from c2s import cards, transition

router = APIRouter(
    prefix="/jobs", route_class=strict.Strict, tags=["results"], responses=problems.documented()
)
CSV = "text/csv"
CONFUSED = 5  # classes that a class is most often taken for
UNCHANGED: dict[int | str, dict[str, Any]] = {304: {"description": "Not changed"}}


class Priors(deps.Out):
    clean: list[float]
    noisy: list[float]


class Confusion(deps.Out):
    class_: str
    probability: float


class PerClass(deps.Out):
    class_: str
    noise_rate: float
    confused_with: list[Confusion]


class Alternative(deps.Out):
    estimator: str
    distance: float  # mean L1 distance of the rows from those of the chosen matrix
    matrix: list[list[float]]


class TransitionOut(plans.Noise):
    """How the labels came to be wrong: P(given label | true class), and what follows from it."""

    classes: list[str]
    orientation: Literal["rows_clean_cols_noisy", "rows_noisy_cols_clean"]
    matrix: list[list[float]]
    priors: Priors
    per_class: list[PerClass]
    estimator: str
    alternatives: list[Alternative]


class Epoch(deps.Out):
    phase: str | None
    step: str | None = None  # the training that it belongs to; a phase may have several
    epoch: int | None
    epochs: int | None = None
    at: deps.Time
    metrics: dict[str, Any]


class Metrics(deps.Out):
    data: list[Epoch]


class Checkpoint(deps.Out):
    phase: str | None
    step: str | None
    epoch: int | None
    bytes: int | None
    at: deps.Time
    metrics: dict[str, Any] | None  # of the epoch that it was written after


class Checkpoints(deps.Out):
    data: list[Checkpoint]


@router.get(
    "/{job_id}/transition",
    summary="The transition matrix",
    response_model=TransitionOut,
    responses={
        200: {
            "description": "As JSON, or as CSV by `Accept` or `format`",
            "content": {CSV: {"schema": {"type": "string"}}},
        },
        **UNCHANGED,
        **problems.documented(406),
    },
)
def show_transition(
    job_id: deps.JobId,
    *,
    database: deps.Db,
    store: deps.Files,
    orientation: Annotated[Literal["rows_clean", "cols_clean"], Query()] = "rows_clean",
    format: Annotated[Literal["json", "csv"] | None, Query()] = None,  # noqa: A002 - the API's word
    accept: Annotated[str, Header()] = "*/*",
    known: deps.Known = None,
) -> Response:
    found = _transition(*_card(database, store, job_id), transposed=orientation == "cols_clean")
    if (format or _wanted(accept)) == "csv":
        return deps.unchanging(_csv(found).encode(), known, media_type="text/csv; charset=utf-8")
    return deps.unchanging(found.model_dump_json().encode(), known)


def _wanted(accept: str) -> str:
    """The form that a client likes best; we have two."""
    kinds = [part.partition(";")[0].strip().lower() for part in accept.split(",")]
    for kind in kinds:
        if kind in ("*/*", "application/*", strict.JSON, ""):
            return "json"
        if kind in (CSV, "text/*"):
            return "csv"
    raise problems.NotAcceptable("the matrix is application/json or text/csv")


def _card(database: Database, store: Store, job_id: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The card of the job's model, and the job's manifest."""
    with database.read() as tx:
        job = jobs.find(tx, job_id)
        model = tx.scalar(select(Model).where(Model.job_id == job_id))
    if model is None:
        raise _none_yet(job)
    return cards.load(store.at(model.folder)), job.manifest


def _none_yet(job: Job) -> errors.NotFound:
    if jobs.ended(job):
        return errors.NotFound(f"job {job.id} {job.state} without a transition matrix", code="not_estimated")
    return errors.NotYet(f"job {job.id} is {job.state}", code="not_estimated_yet", retry_after=5)


def _transition(card: dict[str, Any], manifest: dict[str, Any], *, transposed: bool) -> TransitionOut:
    found, classes = card["transition"], [str(label) for label in card["labels"]]
    T_c = np.array(found["matrix"])  # noqa: N806 - the paper's letter
    clean = np.array(found["priors"])
    counts = manifest.get("dataset", {}).get("class_rows")
    noisy = clean @ T_c if counts is None else transition.shares(counts, len(T_c))
    others = {name: T for name, T in found["alternatives"].items() if name != found["estimator"]}
    return TransitionOut(
        **dict(plans.noise(T_c, clean)),
        classes=classes,
        orientation="rows_noisy_cols_clean" if transposed else "rows_clean_cols_noisy",
        matrix=_turned(found["matrix"], transposed),
        priors=Priors(clean=clean.tolist(), noisy=noisy.tolist()),
        per_class=[_per_class(place, row, classes) for place, row in enumerate(found["matrix"])],
        estimator=found["estimator"],
        alternatives=[
            Alternative(estimator=name, distance=T["distance"], matrix=_turned(T["matrix"], transposed))
            for name, T in others.items()
        ],
    )


def _per_class(place: int, row: list[float], classes: list[str]) -> PerClass:
    others = sorted((-p, other) for other, p in enumerate(row) if other != place and p > 0)
    return PerClass(
        class_=classes[place],
        noise_rate=max(0.0, 1 - row[place]),
        confused_with=[Confusion(class_=classes[other], probability=-p) for p, other in others[:CONFUSED]],
    )


def _turned(matrix: list[list[float]], transposed: bool) -> list[list[float]]:
    return [list(column) for column in zip(*matrix, strict=True)] if transposed else matrix


def _csv(found: TransitionOut) -> str:
    corner = "true \\ given" if found.orientation == "rows_clean_cols_noisy" else "given \\ true"
    lines = [[name, *row] for name, row in zip(found.classes, found.matrix, strict=True)]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([[corner, *found.classes], *lines])
    return text.getvalue()


@router.get("/{job_id}/metrics", summary="The metrics of every epoch so far")
def metrics(job_id: deps.JobId, database: deps.Db) -> Metrics:
    with database.read() as tx:
        jobs.find(tx, job_id)
        found = events.of_type(tx, job_id, "epoch")
    return Metrics(data=[_epoch(event.data, event.at) for event in found])


def _epoch(data: dict[str, Any], at: float) -> Epoch:
    known = {name: data.get(name) for name in ("phase", "step", "epoch", "epochs")}
    return Epoch.model_validate(known | {"metrics": data.get("metrics") or {}, "at": at})


@router.get("/{job_id}/checkpoints", summary="From where a job that is interrupted goes on")
def checkpoints(job_id: deps.JobId, database: deps.Db) -> Checkpoints:
    with database.read() as tx:
        jobs.find(tx, job_id)
        found = events.of_type(tx, job_id, "checkpoint")
        epochs = [event.data for event in events.of_type(tx, job_id, "epoch")]
    measured = {_moment(data): data.get("metrics") for data in epochs}
    return Checkpoints(
        data=[_checkpoint(event.data, event.at, measured.get(_moment(event.data))) for event in found]
    )


def _moment(data: dict[str, Any]) -> tuple[object, ...]:
    return data.get("phase"), data.get("step"), data.get("epoch")


def _checkpoint(data: dict[str, Any], at: float, metrics: dict[str, Any] | None) -> Checkpoint:
    known = {name: data.get(name) for name in ("phase", "step", "epoch", "bytes")}
    return Checkpoint.model_validate(known | {"metrics": metrics, "at": at})


@router.get(
    "/{job_id}/manifest",
    summary="All that is needed to run the job again",
    response_model=dict[str, Any],
    responses=UNCHANGED,
)
def manifest(job_id: deps.JobId, database: deps.Db, known: deps.Known = None) -> Response:
    with database.read() as tx:
        found = jobs.find(tx, job_id).manifest
    return deps.unchanging(deps.plain(found), known)
