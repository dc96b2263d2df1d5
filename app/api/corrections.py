"""All labels of a job put right, by people first and then by thresholds: as a download, and as a new dataset."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Depends, Header, Query, Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import StreamingResponse

from app.api import datasets, deps, downloads, issues, offspring, posts, problems, strict
from app.core import damage, decisions, receipts
from c2s.judging import issues as judging
from c2s.judging import reviews

router = APIRouter(
    prefix="/jobs", route_class=strict.Strict, tags=["results"], responses=problems.documented()
)


@dataclass(frozen=True)
class Thresholds:
    """Which labels are changed and which are left to a person, of those that none has decided on."""

    correct_at: Annotated[float, Query(ge=0, le=1, description="probability that changes a label")] = (
        judging.CORRECT_AT
    )
    keep_at: Annotated[float, Query(ge=0, le=1, description="below it a label is for review")] = (
        judging.KEEP_AT
    )


@router.get(
    "/{job_id}/corrected",
    summary="Every row with its label put right",
    response_class=StreamingResponse,
    responses=downloads.DOCUMENTED | problems.documented(406),
)
def corrected(
    job_id: deps.JobId,
    *,
    database: deps.Db,
    store: deps.Files,
    thresholds: Annotated[Thresholds, Depends()],
    decision: Annotated[reviews.Word | None, Query(description="only rows of this decision")] = None,
    format: Annotated[downloads.Form | None, Query()] = None,  # noqa: A002 - the API's word
    accept: Annotated[str, Header()] = "*/*",
    known: deps.Known = None,
) -> Response:
    """What people settled counts, else the thresholds do.

    A person's last word comes first (`decision` is then `reviewed`, `confidence` 1), here or in the review that the
    dataset was made from, then a gold label of the dataset (`gold`, 1). Classes that the job merged are one: a label
    that stays in its merged class stands as it came, and a row that moves into one gets its first name.
    """
    form = format or downloads.wanted(accept)
    path = issues.labels_of(database, store, job_id)
    with database.read() as tx:
        decided = decisions.of(tx, job_id)
    said = hashlib.sha256(decided.rows.tobytes() + decided.labels.tobytes()).hexdigest()[:16]
    tag = f'"{job_id}-{said}-{thresholds.correct_at!r}-{thresholds.keep_at!r}-{decision}-{form}"'
    headers = {"ETag": tag, "Cache-Control": "private, no-cache", "Vary": "Accept"}
    if deps.has(known, tag):
        return Response(status_code=304, headers=headers)
    headers["Content-Disposition"] = f'attachment; filename="{job_id}-corrected.{form}"'
    with damage.told("the judged labels"):
        judged = reviews.Reviews(path)
    tables = _tables(judged, thresholds, decided, decision)
    return StreamingResponse(
        downloads.tables(tables, form), media_type=downloads.TYPES[form], headers=headers
    )


def _tables(
    found: reviews.Reviews, thresholds: Thresholds, decided: reviews.Decided, only: str | None
) -> Iterator[Any]:
    """The user's rows, a group at a time: id, given and corrected label, confidence, decision."""
    import pyarrow as pa
    import pyarrow.compute as pc

    names, words = found.naming, pa.array(reviews.WORDS)
    every, came = pa.array(names.every), pa.array(names.came)
    with found:
        for part in found.verdicts(decided, **vars(thresholds)):
            judged = part.judged
            changed = part.told == reviews.WORDS.index("corrected")
            sure = np.where(changed, judged.probability, judged.given_probability)
            sure[part.by_people] = 1
            made = pa.table(
                {
                    "id": part.table["id"],
                    "given": came.take(pa.array(part.came)),
                    "corrected": every.take(pa.array(names.among(part.label, part.came))),
                    "confidence": sure,
                    "decision": words.take(pa.array(part.told)),
                    "suggested": every.take(pa.array(names.among(judged.suggested, part.came))),
                    "probability": judged.probability,
                }
            )
            yield made if only is None else made.filter(pc.equal(made["decision"], only))


class CorrectedIn(BaseModel):
    """Which labels the new dataset has, and what it is called."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{}, {"correct_at": 0.95}]})

    name: Annotated[str | None, Field(min_length=1, max_length=200)] = None
    correct_at: Annotated[
        float | None,
        Field(
            ge=0,
            le=1,
            description="also change labels by this probability; null: only as people decided, gold labels included",
        ),
    ] = None
    gold: Annotated[
        bool,
        Field(
            description="keep what people decided as gold labels as well: such rows are held out of training,"
            " and being the suspicious ones they make the accuracy counted on them a cautious one"
        ),
    ] = False


USUAL = CorrectedIn()


@router.post(
    "/{job_id}/corrected-dataset",
    status_code=201,
    summary="A new dataset: the same rows with their labels put right",
    responses={
        201: {"description": "The dataset is ready"},
        202: {"model": datasets.DatasetOut, "description": "A worker will make it"},
        **problems.documented(400, 409, 429, 507),
    },
)
def create(
    job_id: deps.JobId,
    response: Response,
    *,
    body: CorrectedIn = USUAL,
    settings: deps.Config,
    database: deps.Db,
    store: deps.Files,
    key: deps.Key = None,
) -> datasets.DatasetOut:
    """The dataset of the job stays as it is; the new one names it as `parent_id` and the job as `job_id`.

    Classes that the job merged are one, under the first name of their group; its report's `notes` say which.
    """
    request = receipts.digest(f"POST /jobs/{job_id}/corrected-dataset", body.model_dump_json())
    made = posts.replayed(database, key, request)
    if made is None:
        path = issues.labels_of(database, store, job_id)
        birth = offspring.Birth(settings, database, store)
        wanted = offspring.Wanted(body.name, body.correct_at, body.gold, key, request)
        made = birth(job_id, path, wanted)
    response.status_code = made.status
    response.headers["Location"] = f"/datasets/{made.resource}"
    return datasets.show_row(database, made.resource)
