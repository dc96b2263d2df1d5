"""Published classifiers; a job publishes at most one, and it never changes."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.api import deps, problems, strict
from app.core import errors
from app.core.tables import Model

router = APIRouter(
    prefix="/models", route_class=strict.Strict, tags=["models"], responses=problems.documented()
)


class ModelOut(deps.Listed):
    """A classifier; `card` tells what it was made from and how."""

    name: str
    job_id: str
    sha256: str  # of the weights
    card: dict[str, Any]
    created_at: deps.Time


def find(tx: Session, model_id: str) -> Model:
    """The model of this id."""
    model = tx.get(Model, model_id)
    if model is None:
        raise errors.NotFound(f"there is no model {model_id}")
    return model


@router.get("", summary="Models, newest first")
def index(
    database: deps.Db,
    cursor: deps.Paging,
    name: Annotated[str | None, Query(max_length=200)] = None,
) -> deps.Page[ModelOut]:
    chosen = select(Model) if name is None else select(Model).where(Model.name == name)
    with database.read() as tx:
        rows, more = cursor.rows(tx, chosen, Model)
    return deps.page([ModelOut.model_validate(row) for row in rows], more)


@router.get(
    "/{model_id}",
    summary="A model",
    response_model=ModelOut,
    responses={304: {"description": "Not changed"}},
)
def show(model_id: deps.ModelId, database: deps.Db, known: deps.Known = None) -> Response:
    with database.read() as tx:
        model = ModelOut.model_validate(find(tx, model_id))
    return deps.unchanging(model.model_dump_json().encode(), known)
