"""Which rows of a job to look at next, and what the true labels found there say of its classifier."""

from pathlib import Path
from typing import Annotated

import numpy as np
from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from app.api import deps, issues, problems, strict
from app.core import errors
from app.core.db import Database
from app.core.storage import Store
from c2s import gold, reviews

router = APIRouter(
    prefix="/jobs", route_class=strict.Strict, tags=["results"], responses=problems.documented()
)
MOST = 10_000  # rows of one request
Name = Annotated[str, Field(max_length=1000)]


class Asked(deps.Out):
    """A row to look at."""

    id: str
    given: str
    predicted: str
    probability: float  # of the predicted class
    reason: str


class Golds(deps.Out):
    """Rows in the order in which to look at them; of a longer list these are the first."""

    held: int  # rows that the classifier has not seen, from which these are drawn
    data: list[Asked]


class GoldIn(BaseModel):
    """True labels by row id, as far as they could be told."""

    model_config = ConfigDict(extra="forbid")

    labels: dict[Name, Name] = Field(min_length=1, max_length=MOST)


class Accuracy(deps.Out):
    """Accuracy on clean labels with its 95 % interval."""

    value: float
    low: float
    high: float
    rows: int
    more_gold: (
        int | None
    )  # further rows, drawn alike, that would halve the interval; null: there are not so many
    gold_words: str | None  # what can be had then


@router.get(
    "/{job_id}/gold",
    summary="Rows whose true labels would tell most about the classifier",
    response_model=Golds,
    responses={304: {"description": "Not changed"}},
)
def show(
    job_id: deps.JobId,
    *,
    database: deps.Db,
    store: deps.Files,
    rows: Annotated[int, Query(ge=1, le=MOST)] = 50,
    known: deps.Known = None,
) -> Response:
    classes, held, design = _held(database, store, job_id)
    sizes = np.bincount(design.stratum)
    data = [
        Asked(
            id=held.ids[row],
            given=classes[held.given[row]],
            predicted=classes[held.predicted[row]],
            probability=float(held.probability[row]),
            reason=f"One of {sizes[design.stratum[row]]} rows held out that the classifier is about as sure of.",
        )
        for row in design.order[:rows].tolist()
    ]
    return deps.unchanging(Golds(held=len(held.ids), data=data).model_dump_json().encode(), known)


@router.post("/{job_id}/gold", summary="The classifier's accuracy by true labels of these rows")
def count(job_id: deps.JobId, body: GoldIn, database: deps.Db, store: deps.Files) -> Accuracy:
    classes, held, design = _held(database, store, job_id)
    places = {name: place for place, name in enumerate(held.ids)}
    for name, label in body.labels.items():
        if name not in places:
            raise _wrong("no row of this id was held out")
        if label not in classes:
            raise _wrong(f"a true label is {label[:100]!r}, which is no class of the dataset")
    rows = np.array([places[name] for name in body.labels], np.int64)
    true = np.array([classes.index(label) for label in body.labels.values()])
    found = gold.estimate(design, rows, held.predicted[rows] == true)
    if found is None:
        raise _wrong(f"look at the first {len(design.shares)} rows of the list at least")
    return Accuracy(
        value=found.value,
        low=found.low,
        high=found.high,
        rows=found.rows,
        more_gold=found.more,
        gold_words=found.words,
    )


def _held(database: Database, store: Store, job_id: str) -> tuple[tuple[str, ...], reviews.Held, gold.Design]:
    """The classes, the rows held out and the order in which they are asked for: the same at every request."""
    path = issues.labels_of(database, store, job_id)
    if not (there := path.with_name(reviews.HELD)).is_file():
        raise errors.NotFound("the job ended before rows held out were told", code="not_estimated")
    with reviews.Reviews(path) as judged:
        classes = judged.classes
    held = reviews.load_held(Path(there))
    return classes, held, gold.design(held.probability, seed=0)


def _wrong(detail: str) -> errors.Invalid:
    fault = {"pointer": "/labels", "code": "invalid", "detail": detail}
    return errors.Invalid("the true labels cannot be counted", errors=[fault])
