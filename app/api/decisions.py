"""What people decided on the labels of a job's rows: written many at a time, changed, taken back, listed."""

from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Connection

from app.api import deps, issues, posts, problems, strict
from app.core import audit, decisions, errors, receipts
from app.core.decisions import Choice
from c2s import naming
from c2s.judging import reviews

router = APIRouter(
    prefix="/jobs", route_class=strict.Strict, tags=["results"], responses=problems.documented()
)
MOST = 1000  # in one request
SHOWN = 20  # classes that a refusal names


class DecisionIn(BaseModel):
    """A row and what is to become of its label."""

    model_config = ConfigDict(extra="forbid")

    id: str  # of the row, as /issues tells it
    decision: Annotated[
        Literal["accept", "keep", "relabel", "undecided"],
        Field(description="accept the suggestion, keep the given label, relabel, or take a decision back"),
    ]
    label: Annotated[str | None, Field(description="a class; of relabel alone")] = None


class DecisionsIn(BaseModel):
    """Decisions, all of which are kept or none; of two on one row the later counts."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "decisions": [
                        {"id": "17", "decision": "accept"},
                        {"id": "4", "decision": "relabel", "label": "cat"},
                    ]
                }
            ]
        },
    )

    decisions: Annotated[list[DecisionIn], Field(min_length=1, max_length=MOST)]


class DecisionOut(issues.Said):
    """A decision, and the row that it is on."""

    row: int
    id: str
    given: str
    suggested: str


class Decisions(deps.Out):
    """A part of the list, in the order of the dataset."""

    data: list[DecisionOut]
    has_more: bool
    next_cursor: str | None


class Recorded(deps.Out):
    """What was kept."""

    recorded: int  # rows of the request
    decided: int  # rows of the job that are decided now


@router.post(
    "/{job_id}/decisions",
    summary="Accept, keep or change labels as a person sees them",
    responses=problems.documented(400, 409),
)
def decide(
    job_id: deps.JobId, body: DecisionsIn, *, database: deps.Db, store: deps.Files, key: deps.Key = None
) -> Recorded:
    """A later decision on a row takes the place of the earlier one; `undecided` takes it back."""
    with issues.judged(issues.labels_of(database, store, job_id)) as found:
        choices = _choices(found, body)
    caller, project = database.caller, deps.project_of(database)
    withdrawn = sum(choice.decision is None for choice in choices)

    def write(tx: Connection) -> posts.Made:
        decisions.record(tx, job_id, project, choices, by=caller)
        audit.note(tx, caller, "job.review", job_id, decided=len(choices) - withdrawn, taken_back=withdrawn)
        return posts.Made(job_id, 200)

    request = receipts.digest(f"POST /jobs/{job_id}/decisions", body.model_dump_json())
    posts.once(database, key, request, write)
    with database.read() as tx:
        return Recorded(recorded=len(choices), decided=decisions.count(tx, job_id))


def _choices(found: reviews.Reviews, body: DecisionsIn) -> list[Choice]:
    """The decisions by place, or everything that is wrong with them."""
    rows = found.find([one.id for one in body.decisions])
    places = {name: place for place, name in enumerate(found.classes)}
    faults = [
        fault for number, one in enumerate(body.decisions) for fault in _faults(number, one, rows, places)
    ]
    if faults:
        raise errors.Invalid("decisions that cannot be kept", errors=faults[: problems.MOST_FAULTS])
    return list({rows[one.id].row: _choice(one, rows[one.id], places) for one in body.decisions}.values())


def _faults(
    number: int, one: DecisionIn, rows: dict[str, reviews.Issue], places: dict[str, int]
) -> list[dict[str, Any]]:
    here, found = f"/decisions/{number}", []
    if one.id not in rows:
        found.append(_fault(f"{here}/id", "not_found", "the job judged no row of this id"))
    if one.decision == "relabel" and one.label is None:
        found.append(_fault(f"{here}/label", "missing", "relabel needs a label"))
    elif one.decision != "relabel" and one.label is not None:
        found.append(_fault(f"{here}/label", "extra_forbidden", f"{one.decision} takes no label"))
    elif one.label is not None and one.label not in places:
        known = ", ".join(list(places)[:SHOWN]) + (", ..." if len(places) > SHOWN else "")
        found.append(
            _fault(f"{here}/label", "not_found", f"no class of the job has this name: there are {known}")
        )
    return found


def _fault(pointer: str, code: str, detail: str) -> dict[str, Any]:
    return {"pointer": pointer, "code": code, "detail": detail}


def _choice(one: DecisionIn, row: reviews.Issue, places: dict[str, int]) -> Choice:
    match one.decision:
        case "undecided":
            return Choice(row.row, None, row.given)
        case "accept":
            return Choice(row.row, "accept", row.suggested)
        case "keep":
            return Choice(row.row, "keep", row.given)
        case "relabel":
            return Choice(row.row, "relabel", places[one.label or ""])


@router.get("/{job_id}/decisions", summary="What people decided, in the order of the dataset")
def index(
    job_id: deps.JobId,
    *,
    database: deps.Db,
    store: deps.Files,
    limit: Annotated[int, Query(ge=1, le=1000)] = 20,
    after: Annotated[
        str | None, Query(pattern=deps.RANK, description="`next_cursor` of the page before")
    ] = None,
) -> Decisions:
    path = issues.labels_of(database, store, job_id)
    with database.read() as tx, issues.judged(path) as found:
        made = decisions.page(tx, job_id, after=-1 if after is None else int(after), limit=limit + 1)
        shown = made[:limit]
        rows = found.issues(np.array([one.row for one in shown], dtype=np.intp))
        data = [
            _out(row, issues.said(one, row, found.naming), found.naming)
            for one, row in zip(shown, rows, strict=True)
        ]
    more = len(made) > limit
    return Decisions(data=data, has_more=more, next_cursor=str(data[-1].row) if more else None)


def _out(row: reviews.Issue, said: issues.Said | None, names: naming.Naming) -> DecisionOut:
    known: dict[str, Any] = {"row": row.row, "id": row.id, **issues.named(row, names)}
    return DecisionOut.model_validate(known | (said.model_dump() if said else {}))
