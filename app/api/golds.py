"""Which rows of a job to look at next, and what the true labels found there say of its classifier."""

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Self

import numpy as np
from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from app.api import deps, issues, problems, reports, strict
from app.core import damage, errors
from app.core.db import Database
from app.core.storage import Store
from c2s import naming
from c2s.judging import gold, held, pooling, worth

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

    held: int  # rows that the classifier has not seen and nobody knows, from which these are drawn
    least: int  # how many from the top the accuracy needs
    data: list[Asked]


class GoldIn(BaseModel):
    """True labels by row id, as far as they could be told."""

    model_config = ConfigDict(extra="forbid")

    labels: dict[Name, Name] = Field(min_length=1, max_length=MOST)
    random_gold: bool = Field(
        False,
        description="the dataset's gold rows were drawn at random from all its rows, so count them alike",
    )


class Accuracy(deps.Out):
    """Accuracy on clean labels with its 95 % interval: of these rows and of the dataset's gold ones, each once.

    Unless they are said to be drawn at random, gold rows count for the share of all rows that they are: then the
    figure is right however they were chosen.
    """

    value: float
    low: float
    high: float
    rows: int
    more_gold: (
        int | None
    )  # further rows, drawn alike, that would halve the interval; null: there are not so many
    gold_words: str | None  # what can be had then
    asked: reports.Share  # by these rows alone: of all that are not gold
    marked: reports.Share | None  # by the dataset's gold rows alone, as the report has it
    pooled: pooling.How | None  # how the two are one figure; null: there are no gold rows
    words: str | None  # the same in words


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
    asked = Asking.of(database, store, job_id)
    classes, rest, design = asked.names.classes, asked.rest, asked.design
    sizes = np.bincount(design.stratum)
    data = [
        Asked(
            id=rest.ids[row],
            given=asked.names.came[rest.given[row]],
            predicted=classes[rest.predicted[row]],
            probability=float(rest.probability[row]),
            reason=f"One of {sizes[design.stratum[row]]} rows held out that the classifier is about as sure of.",
        )
        for row in design.order[:rows].tolist()
    ]
    found = Golds(held=len(rest.ids), least=len(design.shares), data=data)
    return deps.unchanging(found.model_dump_json().encode(), known)


@router.post(
    "/{job_id}/gold",
    summary="The classifier's accuracy by true labels of these rows",
    responses=problems.documented(400),
)
def count(job_id: deps.JobId, body: GoldIn, database: deps.Db, store: deps.Files) -> Accuracy:
    asked = Asking.of(database, store, job_id)
    known, design = asked.names.places, asked.design
    places = {name: place for place, name in enumerate(asked.rest.ids)}
    if faults := list(_faults(body.labels, asked, places, known)):
        raise errors.Invalid(
            f"{len(faults)} of {len(body.labels)} true labels cannot be counted",
            errors=faults[: problems.MOST_FAULTS],
        )
    rows = np.array([places[name] for name in body.labels], np.int64)
    true = np.array([known[label] for label in body.labels.values()])
    found = gold.estimate(design, rows, asked.rest.predicted[rows] == true)
    if found is None:
        few = _fault(f"look at the first {len(design.shares)} rows of the list at least")
        raise errors.Invalid("the true labels cannot be counted", errors=[few])
    return _accuracy(found, asked, random=body.random_gold)


def _accuracy(found: gold.Counted, asked: "Asking", *, random: bool) -> Accuracy:
    """One figure of the rows that were looked at and of the gold ones."""
    alone = reports.Share(value=found.value, low=found.low, high=found.high, rows=found.rows)
    told = worth.Share(found.value, found.low, found.high, found.rows)
    more, further, how, words = found.more, found.words, None, None
    if asked.marked is not None:
        left = len(asked.rest.ids) - found.rows
        one = pooling.pool(found, asked.marked, random=random, left=left)
        told, more, further, how, words = one.found, one.more, one.further, one.how, one.words
    return Accuracy(
        **told._asdict(),
        more_gold=more,
        gold_words=further,
        asked=alone,
        marked=None if asked.marked is None else reports.Share(**asked.marked.found._asdict()),
        pooled=how,
        words=words,
    )


@dataclass(frozen=True)
class Asking:
    """The rows that may be asked for and their order, the same at every request; gold ones are known already."""

    names: naming.Naming
    rest: held.Held  # held out, and not gold
    known: set[str]  # gold
    design: gold.Design
    marked: pooling.Marked | None  # what the gold rows held out tell

    @classmethod
    def of(cls, database: Database, store: Store, job_id: str) -> Self:
        """Those of a job that has ended."""
        path = issues.labels_of(database, store, job_id)
        if not (there := path.with_name(held.FILE)).is_file():
            raise errors.NotFound("the job ended before rows held out were told", code="not_estimated")
        with issues.judged(path) as judged:
            names, known, rows = judged.naming, judged.gold(), judged.rows
        with damage.told("the rows held out"):
            rest = held.load(there).without(known)
        told = reports.kept(path)["worth"]["gold"]
        marked = pooling.Marked(worth.Share(**told), len(known) / rows) if told and known else None
        return cls(names, rest, known, gold.design(rest.probability, seed=0), marked)


def _faults(
    labels: Mapping[str, str], asked: Asking, places: Container[str], known: Container[str]
) -> Iterator[dict[str, str]]:
    """What is wrong with each true label that cannot be counted."""
    for name, label in labels.items():
        if name in asked.known:
            yield _fault(f"row {name[:100]!r} is gold already: the report counts it", name)
        elif name not in places:
            yield _fault(f"no row {name[:100]!r} was held out", name)
        elif label not in known:
            yield _fault(f"a true label is {label[:100]!r}, which is no class of the dataset", name)


def _fault(detail: str, *row: str) -> dict[str, str]:
    where = problems.pointer(["labels", *row])[: problems.LONGEST_POINTER]
    return {"pointer": where, "code": "invalid", "detail": detail}
