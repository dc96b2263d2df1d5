"""The transition matrix of a job: how its labels came to be wrong, as far as it knows."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, Header, Query, Response
from pydantic import Field
from sqlalchemy import select

from app.api import deps, matrices, plans, problems, renderings, strict
from app.core import errors, jobs
from app.core.db import Database
from app.core.storage import Store
from app.core.tables import Job, Model
from c2s import cards
from c2s.judging import advice
from c2s.matrix import transition

router = APIRouter(
    prefix="/jobs", route_class=strict.Strict, tags=["results"], responses=problems.documented()
)
Ends = Annotated[list[float], Field(min_length=2, max_length=2)]  # low, high
KNOWN = ("given", "volmin", "revision", "gold")  # matrices that were not read off stage 1's posteriors
CONFUSED = 5  # classes that a class is most often taken for


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
    note: str | None  # what it rests on, where that limits what the distance says
    matrix: list[list[float]]


class Interval(deps.Out):
    """95 % intervals, [low, high] for every number; of basis `sampling` they leave the model's errors out."""

    basis: Literal["rows", "sampling"]
    matrix: list[list[Ends]]
    similarity: dict[Literal["t00", "t01", "t10", "t11"], Ends]
    noise_rate: dict[Literal["class", "similarity"], Ends]


class TransitionOut(matrices.Noise):
    """How the labels came to be wrong: P(given label | true class), and what follows from it.

    `final` is false while the job runs: a method that learns the matrix, or a new attempt with smaller batches, may
    still replace it. A final one never changes.
    """

    final: bool
    classes: list[str]
    orientation: Literal["rows_clean_cols_noisy", "rows_noisy_cols_clean"]
    matrix: list[list[float]]
    as_given: list[list[float]] | None  # of the labels as they came, where some of the dataset were put right
    interval: Interval | None  # None: the matrix was given, or estimated before intervals were
    priors: Priors
    per_class: list[PerClass]
    estimator: str
    notes: list[str]  # what limits what these figures say, as far as it is known
    choice: str | None  # why this estimator, in words; None: estimated before that was told
    alternatives: list[Alternative]
    advice: matrices.Advice


@router.get(
    "/{job_id}/transition",
    summary="The transition matrix",
    response_model=TransitionOut,
    responses={
        200: {
            "description": "As JSON, or in the form that `Accept` or `format` names",
            "content": {kind: {"schema": {"type": "string"}} for kind in renderings.FILES},
        },
        304: {"description": "Not changed"},
        **problems.documented(406),
    },
)
def show_transition(
    job_id: deps.JobId,
    *,
    database: deps.Db,
    store: deps.Files,
    orientation: Annotated[Literal["rows_clean", "cols_clean"], Query()] = "rows_clean",
    format: Annotated[renderings.Form | None, Query()] = None,  # noqa: A002 - the API's word
    chart: Annotated[renderings.Chart, Query(description="which picture, for png and svg")] = "matrix",
    accept: Annotated[str, Header()] = "*/*",
    known: deps.Known = None,
) -> Response:
    form = format or renderings.wanted(accept, renderings.FORMS)
    found = _transition(find(database, store, job_id), transposed=orientation == "cols_clean")
    body, kind = found.model_dump_json().encode(), strict.JSON
    if form != "json":
        body, kind = renderings.render(_table(found), form, chart), renderings.TYPES[form]
    if not found.final:
        return Response(body, media_type=kind, headers={"Cache-Control": "no-store", "Vary": "Accept"})
    return deps.unchanging(body, known, media_type=kind)


def _table(found: TransitionOut) -> renderings.Table:
    """The matrix as files and pictures show it."""
    return renderings.Table(
        classes=tuple(found.classes),
        orientation=found.orientation,
        matrix=np.array(found.matrix),
        interval=None if found.interval is None else np.array(found.interval.matrix),
        priors=np.array(found.priors.clean),
        estimator=found.estimator,
    )


@dataclass(frozen=True)
class Found:
    """What a job knows of its labels: by the card of its model, or before there is one by its row."""

    card: dict[str, Any]
    manifest: dict[str, Any]
    final: bool


def find(database: Database, store: Store, job_id: str) -> Found:
    """What a job knows of its labels now; `NotFound` if it knows nothing."""
    with database.read() as tx:
        job = jobs.find(tx, job_id, "train")
        model = tx.scalar(select(Model).where(Model.job_id == job_id))
    if model is not None:
        return Found(cards.load(store.open_model(model.folder)), job.manifest, final=True)
    if (estimate := (job.result or {}).get("estimate")) is not None:
        return Found(estimate, job.manifest, final=jobs.ended(job))
    raise _none_yet(job)


def _none_yet(job: Job) -> errors.NotFound:
    if jobs.ended(job):
        why = "without a transition matrix, or its model was deleted"
        return errors.NotFound(f"job {job.id} {job.state} {why}", code="not_estimated")
    return errors.NotYet(f"job {job.id} is {job.state}", code="not_estimated_yet", retry_after=5)


def _transition(known: Found, *, transposed: bool) -> TransitionOut:
    found, classes = known.card["transition"], [str(label) for label in known.card["labels"]]
    T_c = np.array(found["matrix"])  # noqa: N806 - the paper's letter
    clean = np.array(found["priors"])
    counts = known.manifest.get("dataset", {}).get("class_rows")
    noisy = clean @ T_c if counts is None else transition.shares(counts, len(T_c))
    about = matrices.about(T_c, clean, classes)
    about.learnability.warnings += plans.few_rows(counts or [])
    others = {name: T for name, T in found["alternatives"].items() if name != found["estimator"]}
    rows = int(sum(counts)) if counts else known.card.get("dataset", {}).get("rows", 0)
    return TransitionOut(
        **dict(about),
        final=known.final,
        classes=classes,
        orientation="rows_noisy_cols_clean" if transposed else "rows_clean_cols_noisy",
        matrix=_turned(found["matrix"], transposed),
        as_given=_turned(came, transposed) if (came := found.get("as_given")) else None,
        interval=_interval(found.get("interval"), transposed),
        priors=Priors(clean=clean.tolist(), noisy=noisy.tolist()),
        per_class=[_per_class(place, row, classes) for place, row in enumerate(found["matrix"])],
        estimator=found["estimator"],
        notes=known.card.get("notes") or [],
        choice=found.get("choice"),
        alternatives=[
            Alternative(
                estimator=name,
                distance=T["distance"],
                note=T.get("note"),
                matrix=_turned(T["matrix"], transposed),
            )
            for name, T in others.items()
        ],
        advice=_advice(found, T_c, noisy, rows=rows),
    )


def _advice(
    found: dict[str, Any],
    T_c: transition.Matrix,  # noqa: N803 - the paper's letter
    noisy: transition.Vector,
    *,
    rows: int,
) -> matrices.Advice:
    """By the matrix without stage 1's errors where T_c was counted: they would hide what the noise is like."""
    refined = found["alternatives"].get("refined")
    trusted = found["estimator"] in KNOWN or refined is None
    T = T_c if trusted else np.array(refined["matrix"])  # noqa: N806
    priors = transition.clean_priors(T, noisy)
    advised = advice.advise(T, priors, rows=rows)
    own, told = (
        f"{transition.noise_rates(*one).class_:.1%}"
        for one in ((T, priors), (T_c, np.array(found["priors"])))
    )
    by = f" By refined among the alternatives: it finds {own} of the labels wrong, where noise_rate has {told}."
    return matrices.Advice(method=advised.method, reason=advised.reason + (by if own != told else ""))


def _interval(found: dict[str, Any] | None, transposed: bool) -> Interval | None:
    if found is None:
        return None
    return Interval.model_validate(found | {"matrix": _turned(found["matrix"], transposed)})


def _per_class(place: int, row: list[float], classes: list[str]) -> PerClass:
    others = sorted((-p, other) for other, p in enumerate(row) if other != place and p > 0)
    return PerClass(
        class_=classes[place],
        noise_rate=max(0.0, 1 - row[place]),
        confused_with=[Confusion(class_=classes[other], probability=-p) for p, other in others[:CONFUSED]],
    )


def _turned(matrix: list[list[Any]], transposed: bool) -> list[list[Any]]:
    return [list(column) for column in zip(*matrix, strict=True)] if transposed else matrix
