"""Pages of models: versions and aliases of a name, and a playground for one version."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response
from sqlalchemy.orm import Session

from app.api import aliases, deps, models, problems
from app.core import aliases as pointers
from app.core import decisions
from app.core import models as records
from app.core.storage import Store
from app.core.tables import Alias
from app.ui import rendering, words
from c2s import cards

router = APIRouter(
    prefix="/ui/models", route_class=rendering.Paged, include_in_schema=False, responses=problems.documented()
)
After = Annotated[str | None, Query(pattern=deps.AFTER)]
MOST_FIELDS = 60  # of a form for one row


@router.get("")
def index(request: Request, database: deps.Db, after: After = None) -> Response:
    found = models.index(database, deps.Cursor(limit=50, after=after))
    return rendering.page(request, "models.html", models=found)


@router.get("/{name}")
def show(
    request: Request,
    name: Annotated[str, Path(max_length=records.LONGEST)],
    database: deps.Db,
    store: deps.Files,
) -> Response:
    with database.read() as tx:
        row = records.resolve(tx, name)
        decided = decisions.unused(tx, row.job_id)
        pointing = [_pointer(tx, alias, version) for alias, version in pointers.of(tx, row.name)]
    versions = models.index(database, deps.Cursor(limit=100), name=row.name).data
    return rendering.page(
        request,
        "model.html",
        model=row,
        versions=versions,
        aliases=pointing,
        decided=decided,
        asks=_asks(store, row.folder),
    )


def _pointer(tx: Session, alias: Alias, version: int) -> dict[str, Any]:
    """An alias, and the version that a rollback would bring back, if there is one."""
    before = pointers.earlier(tx, alias)
    return {**aliases.out(alias, version).model_dump(), "back": before[0].version if before else None}


def _asks(store: Store, folder: str) -> dict[str, Any]:
    """What the playground asks for: a picture's size, the columns of a row, or how many numbers."""
    card = cards.load(store.open_model(folder))
    shape, encoding = card["shape"], card["encoding"] or {}
    columns = [_column(one) for one in encoding.get("columns") or ()]
    kind = str(shape["kind"])
    if kind == "text" and not encoding:
        kind = "bags"  # terms that came without the words they stand for: nothing a person could type
    return {
        "kind": kind,
        "image": shape.get("image"),
        "width": shape.get("width"),
        "columns": columns[:MOST_FIELDS],
        "left_out": max(0, len(columns) - MOST_FIELDS),
    }


def _column(known: str | dict[str, Any]) -> dict[str, Any]:
    """A field of the form: its name, and what values look like, as the training rows had them."""
    if isinstance(known, str):
        return {"name": known, "example": "", "values": []}
    if known["kind"] == "category":
        return {"name": known["name"], "example": "", "values": known["values"]}
    usual = words.day(known["mean"]) if known.get("time") else f"{known['mean']:.4g}"
    return {"name": known["name"], "example": f"about {usual}", "values": []}
