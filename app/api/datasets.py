"""Datasets: uploaded as a raw body, read into a canonical form, immutable afterwards."""

from typing import Annotated, Any, Literal

import anyio.to_thread
from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import TypeAdapter
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.api import deps, problems, strict, uploads
from app.core import audit, datasets, decisions, errors, quotas
from app.core.db import Database
from app.core.tables import Dataset, Intake
from app.intake.options import Format, Name, Options
from app.intake.report import Report

router = APIRouter(
    prefix="/datasets", route_class=strict.Strict, tags=["datasets"], responses=problems.documented()
)
ANY_FILE = {"schema": {"type": "string", "format": "binary"}}
FILES = [
    "application/octet-stream",
    "text/csv",
    "application/x-ndjson",
    "application/vnd.apache.parquet",
    "application/zip",
]


class DatasetOut(deps.Listed):
    """A dataset; what was found in it is in its report."""

    name: str
    state: Intake
    kind: str | None
    rows: int | None
    classes: list[str] | None
    bytes: int
    source_sha256: str
    sha256: str | None
    options: dict[str, Any]
    parent_id: str | None  # the dataset whose labels were put right to make this one
    job_id: str | None  # and the job that they were reviewed in
    created_at: deps.Time


class Refusal(deps.Out):
    """Why a file could not be used."""

    state: Literal["refused"] = "refused"
    reasons: list[problems.Fault]


REPORT: TypeAdapter[Report | Refusal] = TypeAdapter(Report | Refusal)


async def _options(
    format: Annotated[Literal["auto"] | Format, Query()] = "auto",  # noqa: A002 - the API's word
    label: Annotated[Name | None, Query(description="the column of the labels")] = None,
    text: Annotated[Name | None, Query(description="the column of the texts")] = None,
    id: Annotated[Name | None, Query(description="a column that names the rows")] = None,  # noqa: A002
    gold: Annotated[Name | None, Query(description="a column of true labels, empty where not known")] = None,
    drop: Annotated[list[Name] | None, Query(description="columns to leave out", max_length=100)] = None,
    kind: Annotated[Literal["auto", "image", "text", "tabular", "vectors"], Query()] = "auto",
    image_size: Annotated[int | None, Query(ge=4, le=512, description="side in pixels")] = None,
) -> Options:
    drops = tuple(drop or ())
    said = {"format": format, "label": label, "text": text, "id": id, "gold": gold, "kind": kind}
    return Options(**said, drop=drops, image_size=image_size)


@router.post(
    "",
    status_code=201,
    summary="Upload a file",
    responses={
        201: {"description": "The dataset is ready"},
        202: {"model": DatasetOut, "description": "The file is kept; a worker will read it"},
        **problems.documented(400, 409, 429, 507),
    },
    openapi_extra={"requestBody": {"required": True, "content": dict.fromkeys(FILES, ANY_FILE)}},
)
async def create(
    request: Request,
    response: Response,
    *,
    settings: deps.Config,
    database: deps.Db,
    store: deps.Files,
    options: Annotated[Options, Depends(_options)],
    name: Annotated[str, Query(min_length=1, max_length=200)] = "dataset",
    key: deps.Key = None,
) -> DatasetOut:
    """CSV, JSON lines, Parquet, NPZ or a zip of images as the raw body: `curl -X POST -T data.csv`."""
    strict.media_type(request)
    announced = int(request.headers.get("content-length", "0")[:20])
    await anyio.to_thread.run_sync(_check_room, database, announced)
    register = uploads.Register(settings, database, store)
    with store.upload(limit=settings.max_upload_bytes) as upload:
        uploaded = await uploads.receive(request, upload)
        wanted = uploads.Wanted(name, options, key)
        made = await anyio.to_thread.run_sync(register, wanted, uploaded, limiter=request.app.state.readers)
    response.status_code = made.status
    response.headers["Location"] = f"/datasets/{made.resource}"
    return await anyio.to_thread.run_sync(show_row, database, made.resource)


def _check_room(database: Database, announced: int) -> None:
    if database.caller is not None and database.caller.quotas.stored_bytes is not None:
        with database.read() as tx:
            quotas.check_room(tx, database.caller, announced)


def show_row(database: Database, dataset_id: str) -> DatasetOut:
    """A dataset as it is told."""
    with database.read() as tx:
        return DatasetOut.model_validate(datasets.find(tx, dataset_id))


@router.get("", summary="Datasets, newest first")
def index(database: deps.Db, cursor: deps.Paging) -> deps.Page[DatasetOut]:
    with database.read() as tx:
        rows, more = cursor.rows(tx, select(Dataset), Dataset)
    return deps.page([DatasetOut.model_validate(row) for row in rows], more)


@router.get(
    "/{dataset_id}",
    summary="A dataset",
    response_model=DatasetOut,
    responses={304: {"description": "Not changed"}},
)
def show(dataset_id: deps.DatasetId, database: deps.Db, known: deps.Known = None) -> Any:
    dataset = show_row(database, dataset_id)
    if dataset.state == Intake.validating:
        return dataset
    return deps.unchanging(dataset.model_dump_json().encode(), known)


@router.get(
    "/{dataset_id}/report",
    summary="What was found in the file",
    response_model=Report | Refusal,
    responses={304: {"description": "Not changed"}},
)
def report(dataset_id: deps.DatasetId, database: deps.Db, known: deps.Known = None) -> Response:
    with database.read() as tx:
        dataset = datasets.find(tx, dataset_id)
    if dataset.state == Intake.validating:
        raise errors.NotYet("the file has not been read yet")
    found = dataset.report if dataset.state == Intake.ready else _refusal(dataset.error or {})
    return deps.unchanging(REPORT.dump_json(REPORT.validate_python(found)), known)


def _refusal(error: dict[str, Any]) -> dict[str, Any]:
    whole = {"code": error.get("code", "internal"), "detail": error.get("message", "")}
    return {"state": "refused", "reasons": error.get("errors") or [whole]}


@router.delete(
    "/{dataset_id}",
    status_code=204,
    summary="Delete a dataset that no job needs any more",
    responses=problems.documented(409),
)
def delete(
    dataset_id: deps.DatasetId,
    *,
    database: deps.Db,
    spare: deps.Spare,
    store: deps.Files,
    force: deps.Force = False,
) -> None:
    def remove(tx: Session) -> None:
        if not force:
            decisions.hold_dataset(tx, dataset_id)
        datasets.remove(tx, dataset_id)
        audit.note(tx, database.caller, "dataset.delete", dataset_id)

    spare.pressing(database, remove)
    store.remove_dataset(dataset_id)
    spare.lay()
