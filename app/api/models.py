"""Published classifiers: a job publishes at most one, as the next version of a name, and it never changes."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.api import aliases, deps, lookup, problems, strict
from app.core import aliases as pointers
from app.core import audit, decisions, jobs, models
from app.core.tables import Dataset, Job, Model

router = APIRouter(
    prefix="/models", route_class=strict.Strict, tags=["models"], responses=problems.documented()
)
UNCHANGED: dict[int | str, dict[str, Any]] = {304: {"description": "Not changed"}}
SHOWN = 100  # versions in the view of a name
Said = Annotated[
    str,
    Path(
        min_length=1,
        max_length=models.LONGEST,
        description="An id, `name@3`, `name@champion`, or a name: its alias `default`, or else its newest version.",
    ),
]


class ModelOut(deps.Listed):
    """A version: a classifier; `card` tells what it was made from and how."""

    name: str
    version: int  # of the name: 1, 2, ..., never given twice
    aliases: list[str]  # that point at it now
    job_id: str
    sha256: str  # of the weights
    card: dict[str, Any]
    created_at: deps.Time


class NameOut(deps.Out):
    """A name: its newest versions and where its aliases point; `GET /models?name=` lists all versions."""

    name: str
    versions: list[ModelOut]
    has_more: bool
    aliases: list[aliases.AliasOut]


class DatasetOf(deps.Out):
    """The rows; `deleted` says whether only this memory of them is left."""

    id: str | None
    name: str | None
    rows: int | None
    sha256: str | None
    source_sha256: str | None
    parent_id: str | None  # the dataset that it is a correction of
    deleted: bool


class JobOf(deps.Out):
    """The training, and what of its config decides most; `/jobs/{id}/manifest` has all."""

    id: str
    retry_of: str | None
    method: str | None
    net: str | None
    seed: int | None
    versions: dict[str, Any]
    finished_at: deps.Time | None


class TransitionOf(deps.Out):
    """What was found of the labels; `/jobs/{id}/transition` has the matrix."""

    job_id: str
    estimator: str | None
    noise_rate: dict[str, float] | None


class Lineage(deps.Out):
    """What a version was made from: dataset -> job -> transition -> model."""

    dataset: DatasetOf
    job: JobOf
    transition: TransitionOf
    model: ModelOut


def _outs(tx: Session, rows: list[Model]) -> list[ModelOut]:
    pointing = models.aliases(tx, rows)
    known = [name for name in ModelOut.model_fields if name != "aliases"]
    return [
        ModelOut(**{name: getattr(row, name) for name in known}, aliases=pointing[row.id]) for row in rows
    ]


def _name(tx: Session, name: str) -> NameOut:
    rows = models.newest(tx, name, SHOWN + 1)
    if not rows:
        raise models.unknown()
    return NameOut(
        name=name,
        versions=_outs(tx, list(rows[:SHOWN])),
        has_more=len(rows) > SHOWN,
        aliases=[aliases.out(alias, version) for alias, version in pointers.of(tx, name)],
    )


@router.get("", summary="Models, newest first")
def index(
    database: deps.Db,
    cursor: deps.Paging,
    name: Annotated[str | None, Query(max_length=200)] = None,
) -> deps.Page[ModelOut]:
    chosen = select(Model) if name is None else select(Model).where(Model.name == name)
    with database.read() as tx:
        rows, more = cursor.rows(tx, chosen, Model)
        found = _outs(tx, list(rows))
    return deps.page(found, more)


@router.get(
    "/{model_id}",
    summary="A version, by id, `name@3` or `name@alias`; by a plain name all versions and aliases of it",
    response_model=ModelOut | NameOut,
    responses=UNCHANGED,
)
def show(model_id: Said, database: deps.Db, known: deps.Known = None) -> Response:
    found: ModelOut | NameOut
    with database.read() as tx:
        model = models.selected(tx, model_id)
        found = _name(tx, model_id) if model is None else _outs(tx, [model])[0]
    return deps.unchanging(found.model_dump_json().encode(), known)


@router.get(
    "/{model_id}/lineage", summary="What a version was made from", response_model=Lineage, responses=UNCHANGED
)
def lineage(model_id: Said, database: deps.Db, known: deps.Known = None) -> Response:
    with database.read() as tx:
        model = models.resolve(tx, model_id)
        job = jobs.find(tx, model.job_id)
        dataset = tx.get(Dataset, job.dataset_id) if job.dataset_id else None
        found = Lineage(
            dataset=_dataset(job, dataset),
            job=_job(job),
            transition=_transition(model),
            model=_outs(tx, [model])[0],
        )
    return deps.unchanging(found.model_dump_json().encode(), known)


def _dataset(job: Job, dataset: Dataset | None) -> DatasetOf:
    kept = job.manifest.get("dataset", {})
    source = None if dataset is None else dataset.source_sha256
    facts = {name: kept.get(name) for name in ("id", "name", "rows", "sha256")}
    parent = None if dataset is None else dataset.parent_id
    return DatasetOf(**facts, source_sha256=source, parent_id=parent, deleted=dataset is None)


def _job(job: Job) -> JobOf:
    chosen = {part: (job.config.get(part) or {}).get("name") for part in ("method", "net")}
    return JobOf(
        id=job.id,
        retry_of=job.retry_of,
        seed=job.manifest.get("seed"),
        versions=job.manifest.get("versions", {}),
        finished_at=job.finished_at,
        **chosen,
    )


def _transition(model: Model) -> TransitionOf:
    found = {name: model.card.get(name) for name in ("estimator", "noise_rate")}
    return TransitionOf(job_id=model.job_id, **found)


@router.delete(
    "/{model_id}",
    status_code=204,
    summary="Delete a version that no alias points at, and its files",
    responses=problems.documented(409),
)
def delete(
    model_id: deps.ModelId,
    *,
    request: Request,
    database: deps.Db,
    spare: deps.Spare,
    store: deps.Files,
    force: deps.Force = False,
) -> None:
    """The job's judged labels go with it: /issues, /decisions and /corrected of the job are 404 then."""

    def remove(tx: Session) -> Model:
        model = models.remove(tx, model_id)
        if not force:
            decisions.hold_model(tx, model.job_id)
        audit.note(tx, database.caller, "model.delete", model_id, name=model.name, version=model.version)
        return model

    removed = spare.pressing(database, remove)
    lookup.forget(request)
    store.remove_job(removed.job_id)  # after the row: bytes without one are litter, which the janitor finds
    spare.lay()
