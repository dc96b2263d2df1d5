"""Predictions for many rows: a job over a dataset or an uploaded file, and its results."""

from typing import Annotated, Any

import anyio.to_thread
from fastapi import APIRouter, Depends, Header, Query, Request, Response
from pydantic import ValidationError
from sqlalchemy.orm import Session
from starlette.responses import StreamingResponse

from app.api import deps, downloads, ordering, posts, problems, states, strict, uploads, wishes
from app.core import audit, damage, errors, jobs, models
from app.core.db import Database
from app.core.storage import PREDICTIONS, Store
from app.core.tables import Job, State
from app.intake.options import Format

router = APIRouter(
    prefix="/predictions", route_class=strict.Strict, tags=["predictions"], responses=problems.documented()
)
ANY_FILE = {"schema": {"type": "string", "format": "binary"}}
FILES = ["application/octet-stream", "text/csv", "application/x-ndjson", "application/zip"]
FILES += ["application/vnd.apache.parquet"]
FOR_FILES = "for a file as the body"


class PredictionsOut(deps.Listed):
    """A job that predicts, and how far it is; `errors` counts rows that could not be predicted."""

    state: State
    phase: str | None
    model_id: str
    dataset_id: str | None  # None: a file, or a dataset that was deleted
    outputs: list[str]
    top_k: int | None
    rows: int | None  # None until the file is read
    rows_done: int
    errors: int | None = None
    bytes: int | None = None  # of the result as Parquet
    sha256: str | None = None
    columns: list[str] | None = None
    progress: states.Progress | None
    attempts: int
    error: states.Failure | None
    retry_of: str | None
    created_at: deps.Time
    started_at: deps.Time | None
    finished_at: deps.Time | None


def _out(job: Job) -> PredictionsOut:
    result, asked = job.result or {}, job.config
    now = (job.progress or {}).get("metrics") or {}
    rows = result.get("rows") or now.get("rows") or asked["rows"]
    own = {name: getattr(job, name) for name in PredictionsOut.model_fields if hasattr(job, name)}
    own |= {name: asked[name] for name in ("model_id", "outputs", "top_k")}
    own |= {name: result.get(name) for name in ("errors", "bytes", "sha256", "columns")}
    done = result.get("rows") or now.get("rows_done") or 0
    return PredictionsOut.model_validate(own | {"rows": rows, "rows_done": done})


def _show(database: Database, job_id: str) -> PredictionsOut:
    with database.read() as tx:
        return _out(jobs.find(tx, job_id, "predict"))


async def _wish(
    model: Annotated[
        str | None, Query(max_length=models.LONGEST, description=f"id or name, {FOR_FILES}")
    ] = None,
    outputs: Annotated[str | None, Query(max_length=100, description=f"with commas, {FOR_FILES}")] = None,
    top_k: Annotated[int | None, Query(ge=1, le=1000, description=FOR_FILES)] = None,
    format: Annotated[Format | None, Query(description=FOR_FILES)] = None,  # noqa: A002 - the API's word
) -> dict[str, Any]:
    given = outputs.split(",") if outputs is not None else None
    wish = {"model": model, "outputs": given, "top_k": top_k, "format": format}
    return {name: value for name, value in wish.items() if value is not None}


@router.post(
    "",
    status_code=202,
    summary="Predict the rows of a dataset, or of a file",
    responses={202: {"description": "The job will run"}, **problems.documented(400, 409, 429, 507)},
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {strict.JSON: {"schema": ordering.BatchIn.model_json_schema()}}
            | dict.fromkeys(FILES, ANY_FILE),
        }
    },
)
async def create(
    request: Request,
    response: Response,
    *,
    settings: deps.Config,
    database: deps.Db,
    store: deps.Files,
    wish: Annotated[dict[str, Any], Depends(_wish)],
    key: deps.Key = None,
) -> PredictionsOut:
    """JSON names a dataset; anything else is a file of rows without labels: `curl -X POST -T rows.csv`."""
    order = ordering.Ordering(settings, database, store, key)
    kind = strict.media_type(request)
    if kind == strict.JSON or kind.endswith("+json"):
        asked = _asked(ordering.BatchIn, strict.parse(await request.body()))
        if request.query_params:
            raise wishes.unused(next(iter(request.query_params)))
        made = await anyio.to_thread.run_sync(order.of_dataset, asked)
    else:
        made = await _file(request, order, _asked(ordering.FileIn, wish, parameters=True))
    response.headers["Location"] = f"/predictions/{made.resource}"
    return await anyio.to_thread.run_sync(_show, database, made.resource)


async def _file(request: Request, order: ordering.Ordering, asked: ordering.FileIn) -> posts.Made:
    """Take the file in; what can be refused without it is refused first."""
    wishes.Wish.of(asked.top_k, asked.outputs, said="parameter")
    announced = int(request.headers.get("content-length", "0")[:20])
    await anyio.to_thread.run_sync(order.check_file, asked, announced)
    with order.store.upload(limit=order.settings.max_upload_bytes) as upload:
        uploaded = await uploads.receive(request, upload)
        return await anyio.to_thread.run_sync(order.of_file, asked, uploaded)


def _asked(kind: type[Any], value: Any, *, parameters: bool = False) -> Any:
    try:
        return kind.model_validate(value)
    except ValidationError as exc:
        raise problems.refused(exc, value, "query" if parameters else problems.BODY) from exc


@router.get("/{job_id}", summary="Predictions and how far they are")
def show(job_id: deps.JobId, database: deps.Db) -> PredictionsOut:
    return _show(database, job_id)


@router.get(
    "/{job_id}/results",
    summary="The predictions, a row each",
    response_class=StreamingResponse,
    responses=downloads.DOCUMENTED | problems.documented(406, 409),
)
def results(
    job_id: deps.JobId,
    *,
    database: deps.Db,
    store: deps.Files,
    format: Annotated[downloads.Form | None, Query()] = None,  # noqa: A002 - the API's word
    accept: Annotated[str, Header()] = "*/*",
    known: deps.Known = None,
) -> Response:
    with database.read() as tx:
        job = jobs.find(tx, job_id, "predict")
    if not jobs.ended(job):
        raise errors.NotYet(f"job {job_id} is {job.state}", retry_after=5)
    if job.state != State.succeeded or job.result is None:
        raise errors.Conflict(f"job {job_id} has {job.state} without results", code="no_results")
    form = format or downloads.wanted(accept)
    tag = f'"{job.result["sha256"][:32]}-{form}"'
    headers = {"ETag": tag, "Cache-Control": "private, no-cache", "Vary": "Accept"}
    if deps.has(known, tag):
        return Response(status_code=304, headers=headers)
    headers["Content-Disposition"] = f'attachment; filename="{job_id}.{form}"'
    if form == "parquet":
        headers["Content-Length"] = str(job.result["bytes"])
    return StreamingResponse(_open(store, job, form), media_type=downloads.TYPES[form], headers=headers)


def _open(store: Store, job: Job, form: downloads.Form) -> Any:
    with damage.told(f"the results of job {job.id}"):
        return downloads.stream(store.open_result((job.result or {})["folder"]) / PREDICTIONS, form)


@router.delete(
    "/{job_id}",
    status_code=204,
    summary="Delete predictions that have ended, with their results",
    responses=problems.documented(409),
)
def delete(job_id: deps.JobId, database: deps.Db, spare: deps.Spare, store: deps.Files) -> None:
    def remove(tx: Session) -> None:
        gone = jobs.remove(tx, job_id)
        made = {"made_by": gone.made_by, "request_id": gone.request_id, "model_id": gone.config["model_id"]}
        audit.note(tx, database.caller, "prediction.delete", job_id, **made)

    spare.pressing(database, remove)
    store.remove_job(job_id)
    spare.lay()
