"""The rows of a job whose labels are likely wrong, in order, with what people decided on them."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import Field
from sqlalchemy import select

from app.api import deps, problems, strict
from app.core import damage, decisions, errors, jobs
from app.core.db import Database
from app.core.storage import Store
from app.core.tables import Decision, Model, State
from c2s import naming
from c2s.judging import reviews
from c2s.judging.issues import SETTLED

router = APIRouter(
    prefix="/jobs", route_class=strict.Strict, tags=["results"], responses=problems.documented()
)


class Said(deps.Out):
    """What a person decided on a row, and the label that it has by that."""

    decision: decisions.Word
    label: str
    decided_by: str  # the key
    decided_at: deps.Time


class Issue(deps.Out):
    """A label that is likely wrong, and the one that the row likely has."""

    rank: Annotated[
        int,
        Field(
            description="its place among all rows of the job, from 0, the most suspicious first: pages of a filtered"
            " list have gaps; the last one of a page is the list's cursor"
        ),
    ]
    row: int  # from 0, in the order of the dataset
    id: str  # of the row, as the dataset has it
    given: str
    suggested: str
    probability: float  # of the suggested label
    given_probability: float  # of the given one
    gold: bool  # whether the suggestion is a gold label of the dataset, and so no guess
    decision: Said | None  # of a person; null: undecided


class Issues(deps.Out):
    """A part of the list, most suspicious first."""

    data: list[Issue]
    total: int  # rows that all the filters select, on this page or not
    decided: int  # rows of this given and suggested label that people decided on, whatever `decided` asks for
    undecided: int  # and those that nobody has
    has_more: bool
    next_cursor: str | None


@router.get(
    "/{job_id}/issues",
    summary="Rows whose labels are likely wrong, most suspicious first",
    response_model=Issues,
    responses={304: {"description": "Not changed"}},
)
def index(
    job_id: deps.JobId,
    *,
    database: deps.Db,
    store: deps.Files,
    given: Annotated[str | None, Query(max_length=1000, description="only rows of this label")] = None,
    suggested: Annotated[str | None, Query(max_length=1000, description="only with this suggestion")] = None,
    decided: Annotated[
        bool | None, Query(description="only rows that a person decided on, or only the others")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 20,
    after: Annotated[
        str | None, Query(pattern=deps.RANK, description="`next_cursor` of the page before")
    ] = None,
    known: deps.Known = None,
) -> Response:
    path, rank = labels_of(database, store, job_id), -1 if after is None else int(after)
    with database.read() as tx, judged(path) as found:
        pair = _pair(found, given, suggested)
        made = decisions.of(tx, job_id)
        page = found.page(pair, after=rank, limit=limit + 1, decided=made, only=decided)
        said = decisions.on(tx, job_id, [issue.row for issue in page.issues])
        shown = [_issue(issue, found.naming, said.get(issue.row)) for issue in page.issues[:limit]]
    more = len(page.issues) > limit
    answer = Issues(
        data=shown,
        total=_total(page, decided),
        decided=page.decided,
        undecided=page.undecided,
        has_more=more,
        next_cursor=str(shown[-1].rank) if more else None,
    )
    return deps.unchanging(answer.model_dump_json().encode(), known)


def _total(page: reviews.Listed, decided: bool | None) -> int:
    if decided is None:
        return page.decided + page.undecided
    return page.decided if decided else page.undecided


def _issue(issue: reviews.Issue, names: naming.Naming, decision: Decision | None) -> Issue:
    more = {"gold": SETTLED[issue.settled] == "gold", "decision": said(decision, issue, names)}
    return Issue.model_validate(issue._asdict() | named(issue, names) | more)


def named(issue: reviews.Issue, names: naming.Naming) -> dict[str, str]:
    """The labels of a row as they are told: the given one as it came, whatever the job merged."""
    return {"given": names.came[issue.came], "suggested": names.told(issue.suggested, issue.came)}


def said(decision: Decision | None, issue: reviews.Issue, names: naming.Naming) -> Said | None:
    """A decision as it is told."""
    if decision is None:
        return None
    return Said(
        decision=decision.decision,
        label=names.told(decision.label, issue.came),
        decided_by=decision.decided_by,
        decided_at=decision.decided_at,
    )


def _pair(found: reviews.Reviews, given: str | None, suggested: str | None) -> reviews.Pair:
    """A given label is meant as it came, a suggested one as the class that it was merged into."""
    came = {name: place for place, name in enumerate(found.naming.came)}
    return reviews.Pair(_place(came, "given", given), _place(found.naming.places, "suggested", suggested))


def _place(known: dict[str, int], parameter: str, name: str | None) -> int | None:
    if name is None:
        return None
    if name not in known:
        fault = {"parameter": parameter, "code": "invalid", "detail": "no class of the dataset has this name"}
        raise errors.Invalid("there is no such class", errors=[fault])
    return known[name]


@contextlib.contextmanager
def judged(path: Path) -> Iterator[reviews.Reviews]:
    """The judged labels, open."""
    with damage.told("the judged labels"), reviews.Reviews(path) as found:
        yield found


def labels_of(database: Database, store: Store, job_id: str) -> Path:
    """The judged labels of a job that succeeded."""
    with database.read() as tx:
        job = jobs.find(tx, job_id, "train")
        published = tx.scalar(select(Model.id).where(Model.job_id == job_id)) is not None
    if not jobs.ended(job):
        raise errors.NotYet(f"job {job_id} is {job.state}", code="not_estimated_yet", retry_after=5)
    key = (job.result or {}).get("labels")
    if job.state != State.succeeded or key is None or not (published or store.holds(key, reviews.FILE)):
        why = "without judging labels, or its model was deleted"
        raise errors.NotFound(f"job {job_id} {job.state} {why}", code="not_estimated")
    return store.open_result(key) / reviews.FILE
