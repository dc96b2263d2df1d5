"""What a job left on its way: the metrics of its epochs, its checkpoints, its manifest."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, get_args

from fastapi import APIRouter, Header, Query, Response

from app.api import deps, problems, renderings, strict
from app.core import events, jobs
from app.core.db import Database
from app.core.tables import Event
from c2s import trainings
from c2s.drawing import curves

router = APIRouter(
    prefix="/jobs", route_class=strict.Strict, tags=["results"], responses=problems.documented()
)
FOLD = "fold-"  # how the names of trainings on parts of the rows begin


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
    "/{job_id}/metrics",
    summary="The metrics of every epoch so far",
    response_model=Metrics,
    responses={
        200: {
            "description": "As JSON, or one metric as a picture of its curves, by `Accept` or `format`",
            "content": {
                renderings.TYPES[form]: {"schema": {"type": "string"}}
                for form in get_args(renderings.Picture)
            },
        },
        **problems.documented(406),
    },
)
def metrics(
    job_id: deps.JobId,
    *,
    database: deps.Db,
    format: Annotated[renderings.Curves | None, Query()] = None,  # noqa: A002 - the API's word
    metric: Annotated[
        Literal["accuracy", "loss", "likelihood"], Query(description="of the picture")
    ] = "accuracy",
    accept: Annotated[str, Header()] = "*/*",
) -> Response:
    form = format or renderings.wanted(accept, get_args(renderings.Curves))
    headers = {"Cache-Control": "no-store", "Vary": "Accept"}
    found = epochs(database, job_id)
    if form == "json":
        return Response(Metrics(data=found).model_dump_json(), media_type=strict.JSON, headers=headers)
    rows = "the training rows" if metric == "loss" else "held-out noisy rows"
    drawing = curves.chart(lines(found, metric), title=f"{metric} on {rows}, by epoch")
    body = renderings.picture(drawing, form)
    return Response(body, media_type=renderings.TYPES[form], headers=headers)


def epochs(database: Database, job_id: str) -> list[Epoch]:
    """The epochs of a job so far, each once."""
    with database.read() as tx:
        jobs.find(tx, job_id)
        found = _latest(events.of_type(tx, job_id, "epoch"))
    return [_epoch(event.data, event.at) for event in found]


def lines(told: list[Epoch], metric: str) -> dict[str, list[tuple[float, float]]]:
    """Epochs and values of each training, rounds in one line. Folds, of the estimate of T_c alone, are left out."""
    found: dict[str, dict[int, float]] = {}
    for entry in told:
        name, later, _ = str(entry.step or entry.phase or "").partition(trainings.ROUND)
        before = (entry.epochs or 0) if later else 0  # a round is as long as all before it
        if isinstance(value := entry.metrics.get(metric), int | float) and not name.startswith(FOLD):
            found.setdefault(name, {})[before + (entry.epoch or 0)] = float(value)
    return {name: sorted(line.items()) for name, line in found.items()}


def _epoch(data: dict[str, Any], at: float) -> Epoch:
    known = {name: data.get(name) for name in ("phase", "step", "epoch", "epochs")}
    return Epoch.model_validate(known | {"metrics": data.get("metrics") or {}, "at": at})


@router.get("/{job_id}/checkpoints", summary="From where a job that is interrupted goes on")
def checkpoints(job_id: deps.JobId, database: deps.Db) -> Checkpoints:
    with database.read() as tx:
        jobs.find(tx, job_id)
        found = _latest(events.of_type(tx, job_id, "checkpoint"))
        epochs = [event.data for event in events.of_type(tx, job_id, "epoch")]
    measured = {_moment(data): data.get("metrics") for data in epochs}
    return Checkpoints(
        data=[_checkpoint(event.data, event.at, measured.get(_moment(event.data))) for event in found]
    )


def _latest(told: Sequence[Event]) -> list[Event]:
    """Each epoch once: an attempt that goes on from a checkpoint tells again what came after it."""
    return list({_moment(event.data): event for event in told}.values())


def _moment(data: dict[str, Any]) -> tuple[object, ...]:
    return data.get("phase"), data.get("step"), data.get("epoch")


def _checkpoint(data: dict[str, Any], at: float, metrics: dict[str, Any] | None) -> Checkpoint:
    known = {name: data.get(name) for name in ("phase", "step", "epoch", "bytes")}
    return Checkpoint.model_validate(known | {"metrics": metrics, "at": at})


@router.get(
    "/{job_id}/manifest",
    summary="All that is needed to run the job again",
    response_model=dict[str, Any],
    responses={304: {"description": "Not changed"}},
)
def manifest(job_id: deps.JobId, database: deps.Db, known: deps.Known = None) -> Response:
    with database.read() as tx:
        found = jobs.find(tx, job_id).manifest
    return deps.unchanging(deps.plain(found), known)
