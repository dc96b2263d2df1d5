"""The labels of a job's rows as it judged them: the suspicious ones in order, and all of them put right."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, Depends, Header, Query, Response
from starlette.responses import StreamingResponse

from app.api import deps, downloads, problems, strict
from app.core import errors, jobs
from app.core.db import Database
from app.core.storage import Store
from app.core.tables import State
from c2s import issues, reviews

router = APIRouter(
    prefix="/jobs", route_class=strict.Strict, tags=["results"], responses=problems.documented()
)


class Issue(deps.Out):
    """A label that is likely wrong, and the one that the row likely has."""

    rank: int  # from 0, the most suspicious first
    id: str  # of the row, as the dataset has it
    given: str
    suggested: str
    probability: float  # of the suggested label
    given_probability: float  # of the given one


class Issues(deps.Out):
    """A part of the list, most suspicious first."""

    data: list[Issue]
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
    limit: Annotated[int, Query(ge=1, le=1000)] = 20,
    after: Annotated[
        str | None, Query(pattern=r"^[0-9]{1,9}$", description="`next_cursor` of the page before")
    ] = None,
    known: deps.Known = None,
) -> Response:
    with reviews.Reviews(labels_of(database, store, job_id)) as found:
        pair = reviews.Pair(_place(found, "given", given), _place(found, "suggested", suggested))
        page = found.page(pair, after=-1 if after is None else int(after), limit=limit + 1)
        shown = [_issue(issue, found.classes) for issue in page[:limit]]
    more = len(page) > limit
    answer = Issues(data=shown, has_more=more, next_cursor=str(shown[-1].rank) if more else None)
    return deps.unchanging(answer.model_dump_json().encode(), known)


def _issue(issue: reviews.Issue, classes: tuple[str, ...]) -> Issue:
    names = {"given": classes[issue.given], "suggested": classes[issue.suggested]}
    return Issue.model_validate(issue._asdict() | names)


def _place(found: reviews.Reviews, parameter: str, name: str | None) -> int | None:
    if name is None:
        return None
    if name not in found.classes:
        fault = {"parameter": parameter, "code": "invalid", "detail": "no class of the dataset has this name"}
        raise errors.Invalid("there is no such class", errors=[fault])
    return found.classes.index(name)


def labels_of(database: Database, store: Store, job_id: str) -> Path:
    """The judged labels of a job that succeeded."""
    with database.read() as tx:
        job = jobs.find(tx, job_id, "train")
    if not jobs.ended(job):
        raise errors.NotYet(f"job {job_id} is {job.state}", code="not_estimated_yet", retry_after=5)
    key = (job.result or {}).get("labels")
    if job.state != State.succeeded or key is None or not store.holds(key, reviews.FILE):
        why = "without judging labels, or its model was deleted"
        raise errors.NotFound(f"job {job_id} {job.state} {why}", code="not_estimated")
    return store.open_result(key) / reviews.FILE


@dataclass(frozen=True)
class Thresholds:
    """Which labels are changed and which are left to a person."""

    correct_at: Annotated[float, Query(ge=0, le=1, description="probability that changes a label")] = (
        issues.CORRECT_AT
    )
    keep_at: Annotated[float, Query(ge=0, le=1, description="below it a label is for review")] = (
        issues.KEEP_AT
    )


@router.get(
    "/{job_id}/corrected",
    summary="Every row with its label put right",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "As CSV, JSON lines or Parquet, by `Accept` or `format`",
            "content": {kind: {"schema": {"type": "string"}} for kind in downloads.TYPES.values()},
        },
        304: {"description": "Not changed"},
        **problems.documented(406),
    },
)
def corrected(
    job_id: deps.JobId,
    *,
    database: deps.Db,
    store: deps.Files,
    thresholds: Annotated[Thresholds, Depends()],
    decision: Annotated[Literal["kept", "corrected", "review"] | None, Query()] = None,
    format: Annotated[downloads.Form | None, Query()] = None,  # noqa: A002 - the API's word
    accept: Annotated[str, Header()] = "*/*",
    known: deps.Known = None,
) -> Response:
    form = format or downloads.wanted(accept)
    path = labels_of(database, store, job_id)
    tag = f'"{job_id}-{thresholds.correct_at!r}-{thresholds.keep_at!r}-{decision}-{form}"'
    headers = {"ETag": tag, "Cache-Control": "private, no-cache", "Vary": "Accept"}
    if deps.has(known, tag):
        return Response(status_code=304, headers=headers)
    headers["Content-Disposition"] = f'attachment; filename="{job_id}-corrected.{form}"'
    tables = _tables(reviews.Reviews(path), thresholds, decision)
    return StreamingResponse(
        downloads.tables(tables, form), media_type=downloads.TYPES[form], headers=headers
    )


def _tables(found: reviews.Reviews, thresholds: Thresholds, only: str | None) -> Iterator[Any]:
    """The user's rows, a group at a time: id, given and corrected label, confidence, decision."""
    import pyarrow as pa
    import pyarrow.compute as pc

    names, words = pa.array(found.classes), pa.array(issues.DECISIONS)
    with found:
        for table in found.groups():
            columns = {name: table[name].to_numpy() for name in ("given", *issues.Judged._fields)}
            given = columns.pop("given")
            judged = issues.Judged(**columns)
            told = issues.decide(given, judged, correct_at=thresholds.correct_at, keep_at=thresholds.keep_at)
            changed = told == issues.DECISIONS.index("corrected")
            label = np.where(changed, judged.suggested, given)
            made = pa.table(
                {
                    "id": table["id"],
                    "given": names.take(pa.array(given)),
                    "corrected": names.take(pa.array(label)),
                    "confidence": np.where(changed, judged.probability, judged.given_probability),
                    "decision": words.take(pa.array(told)),
                    "suggested": names.take(pa.array(judged.suggested)),
                    "probability": judged.probability,
                }
            )
            yield made if only is None else made.filter(pc.equal(made["decision"], only))
