"""The noise report of a job: what its classifier is worth, and whether noise of the class alone explains its labels."""

from pathlib import Path
from typing import Any

import orjson
from fastapi import APIRouter, Response

from app.api import deps, issues, problems, strict
from app.core import damage, decisions
from c2s.judging import reviews

router = APIRouter(
    prefix="/jobs", route_class=strict.Strict, tags=["results"], responses=problems.documented()
)


class Share(deps.Out):
    """An estimated share with its 95 % interval and the rows that it rests on."""

    value: float
    low: float
    high: float
    rows: int


class Worth(deps.Out):
    """What is known of the classifier; `clean` is null where it cannot be trusted, and `withheld` says why."""

    agreement: Share  # with noisy labels of rows held out
    ceiling: float  # the most that labels as noisy as these let any classifier agree
    clean: Share | None  # accuracy on clean labels, through the matrix
    withheld: list[str]
    gold: Share | None  # accuracy on rows marked gold: on all rows only if these were drawn at random
    more_gold: (
        int | None
    )  # further rows of GET .../gold that would halve its interval; null: there are not so many
    gold_words: str | None = None  # what can be had then; null also in reports of before that was told


class InputDependent(deps.Out):
    """Whether labels are wrong because of what rows show: then no figure that rests on the matrix can be trusted."""

    found: bool
    slope: float
    deviations: float  # standard errors
    reasons: list[str]


class MergeHint(deps.Out):
    class_: str
    is_mostly: str
    mass: float  # share of the rows with this label


class ReportOut(deps.Out):
    """What a job found out about its labels and its classifier, beyond the matrix."""

    rows: int
    out_of_sample: bool  # whether every row was judged by a net that had not seen it
    decisions: dict[str, int]  # rows by the words of `/corrected` at its usual thresholds, after reviews
    worth: Worth
    input_dependent: InputDependent
    merge_hints: list[MergeHint]
    notes: tuple[str, ...] = ()  # what limits what these figures say


def kept(labels: Path) -> dict[str, Any]:
    """The report as the job wrote it, beside the labels that it judged."""
    with damage.told("the report of the job"):
        found: dict[str, Any] = orjson.loads(labels.with_name(reviews.REPORT).read_bytes())
    return found


@router.get(
    "/{job_id}/report",
    summary="The noise report",
    response_model=ReportOut,
    responses={304: {"description": "Not changed"}},
)
def show(job_id: deps.JobId, database: deps.Db, store: deps.Files, known: deps.Known = None) -> Response:
    path = issues.labels_of(database, store, job_id)
    with database.read() as tx:
        decided = decisions.of(tx, job_id)
    with issues.judged(path) as judged:  # not as the job counted them: people go on deciding
        told = {"decisions": judged.counts(decided)}
    found = ReportOut.model_validate(kept(path) | told)
    return deps.unchanging(found.model_dump_json().encode(), known)
