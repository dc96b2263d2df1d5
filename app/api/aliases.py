"""Aliases of a model's name: where each points, moved by whoever saw where it pointed, and moved back in one call."""

import re
from collections.abc import Callable
from typing import Annotated, Self

from fastapi import APIRouter, Header, Path, Request, Response
from pydantic import BaseModel, ConfigDict, Field, model_validator
from sqlalchemy import Connection
from sqlalchemy.orm import Session

from app.api import deps, lookup, posts, problems, strict
from app.core import aliases, audit, db, errors, ids, models, receipts
from app.core.db import Database
from app.core.tables import Alias, AliasMove

router = APIRouter(
    prefix="/models/{name}/aliases",
    route_class=strict.Strict,
    tags=["models"],
    responses=problems.documented(),
)
TAG = re.compile(r'(?<!W/)"([0-9]{1,9})"')
OTHER = re.compile(r'(?:W/)?"[^"]*"')  # any tag: ours are strong numbers
Name = Annotated[
    str, Path(min_length=1, max_length=200, description="The name, or the id of any version of it.")
]
Slug = Annotated[str, Path(pattern=models.ALIAS_PATTERN)]
Match = Annotated[
    str | None,
    Header(alias="If-Match", description="The ETag of the alias as you saw it; 412 if it moved meanwhile."),
]
Absent = Annotated[
    str | None, Header(alias="If-None-Match", description="`*`: only if there is no such alias yet.")
]


class AliasIn(BaseModel):
    """Where an alias is to point: the number of a version, or its id."""

    model_config = ConfigDict(extra="forbid")

    version: Annotated[int | None, Field(ge=1, le=2**31 - 1, strict=True)] = None
    model_id: Annotated[str | None, Field(pattern=ids.pattern("mdl"))] = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.version is None) == (self.model_id is None):
            raise ValueError("name either version or model_id")
        return self


class AliasOut(deps.Out):
    """Where an alias points."""

    name: str
    alias: str
    model_id: str
    version: int
    etag: str  # what If-Match takes
    moved_at: deps.Time


class Move(deps.Out):
    """What happened to an alias; `model_id` is null where it was deleted."""

    number: int
    action: str
    model_id: str | None
    version: int | None
    at: deps.Time


class AliasHistory(AliasOut):
    """Where an alias points, and its last moves, newest first."""

    history: list[Move]


def tag(alias: Alias | AliasMove) -> str:
    """The ETag of an alias, or what it was after a move: it never has the same one twice."""
    return f'"{alias.number}"'


def out(alias: Alias, version: int) -> AliasOut:
    """An alias as users see it."""
    known = {name: getattr(alias, name) for name in ("name", "alias", "model_id", "moved_at")}
    return AliasOut(**known, version=version, etag=tag(alias))


def _name(tx: Session, said: str) -> str:
    """The name that is meant: a name with a slash in it has no address, so the id of a version will do."""
    if ids.valid("mdl", said):
        return models.find(tx, said).name
    if "\x00" in said or not models.newest(tx, said, 1):
        raise models.unknown()
    return said


def _seen(match: str | None) -> aliases.Seen:
    """The moves that an If-Match names; a tag that was never ours matches none, what is no tag is malformed."""
    if match is None or match.strip() == "*":
        return None
    if OTHER.sub("", match).strip(", "):
        raise errors.BadRequest('If-Match takes an ETag in its double quotes, as it was told: If-Match: "3"')
    return {int(number) for number in TAG.findall(match)}


@router.get(
    "/{alias}",
    summary="Where an alias points, and where it pointed before",
    response_model=AliasHistory,
    responses={304: {"description": "Not changed"}},
)
def show(name: Name, alias: Slug, database: deps.Db, known: deps.Known = None) -> Response:
    with database.read() as tx:
        found = aliases.find(tx, _name(tx, name), alias)
        version = models.find(tx, found.model_id).version
        past = [Move.model_validate(move) for move in aliases.history(tx, found.name, alias)]
    headers = {"ETag": tag(found), "Cache-Control": "private, no-cache"}
    if deps.has(known, tag(found)):
        return Response(status_code=304, headers=headers)
    body = AliasHistory(**dict(out(found, version)), history=past).model_dump_json()
    return Response(body, media_type=strict.JSON, headers=headers)


@router.put(
    "/{alias}",
    summary="Point an alias at a version",
    response_model=AliasOut,
    responses={
        201: {"model": AliasOut, "description": "The alias is new"},
        **problems.documented(400, 412, 428),
    },
)
def put(
    name: Name,
    alias: Slug,
    body: AliasIn,
    *,
    request: Request,
    response: Response,
    database: deps.Db,
    match: Match = None,
    absent: Absent = None,
) -> AliasOut:
    if absent is not None and (absent.strip() != "*" or match is not None):
        raise errors.Moved("only If-None-Match: * creates an alias, and If-Match moves one: send one of them")
    if absent is None and match is None:
        raise errors.Unconditional("send If-Match with the ETag you saw, or If-None-Match: * to make it")

    with database.begin() as tx:
        model = aliases.version(tx, _name(tx, name), model_id=body.model_id, number=body.version)
        if absent:
            moved, changed = aliases.create(tx, model, alias), True
        else:
            moved, changed = aliases.move(tx, model, alias, _seen(match))
        if changed:
            audit.note(tx, database.caller, "alias.set", model.id, **_told(moved, model.version))
    lookup.forget(request)
    response.status_code = 201 if absent else 200
    response.headers["ETag"] = tag(moved)
    return out(moved, model.version)


def _told(alias: Alias, version: int | None = None) -> dict[str, object]:
    return {"name": alias.name, "alias": alias.alias, "version": version, "move": alias.number}


@router.delete(
    "/{alias}", status_code=204, summary="Delete an alias", responses=problems.documented(400, 412)
)
def delete(name: Name, alias: Slug, *, request: Request, database: deps.Db, match: Match = None) -> None:
    with database.begin() as tx:
        gone = aliases.remove(tx, _name(tx, name), alias, _seen(match))
        audit.note(tx, database.caller, "alias.delete", gone.model_id, **_told(gone))
    lookup.forget(request)


@router.post(
    "/{alias}/rollback",
    summary="Point an alias at what it pointed at before",
    responses=problems.documented(400, 409, 412),
)
def rollback(
    name: Name,
    alias: Slug,
    *,
    request: Request,
    response: Response,
    database: deps.Db,
    match: Match = None,
    key: deps.Key = None,
) -> AliasOut:
    """Sent again it goes one step further back, unless an `If-Match` or an `Idempotency-Key` comes with it."""
    asked = receipts.digest("rollback", name, alias)
    made = posts.once(database, key, asked, _rolling(database, name, alias, _seen(match)))
    lookup.forget(request)
    with database.read() as tx:
        move = aliases.moved(tx, _name(tx, name), alias, int(made.resource))
    response.headers["ETag"] = tag(move)
    facts = {field: getattr(move, field) for field in ("name", "alias", "model_id", "version")}
    return AliasOut.model_validate(facts | {"etag": tag(move), "moved_at": move.at})


def _rolling(
    database: Database, name: str, alias: str, seen: aliases.Seen
) -> Callable[[Connection], posts.Made]:
    def roll(connection: Connection) -> posts.Made:
        with db.mapped(connection, database.caller) as tx:
            back = aliases.rollback(tx, _name(tx, name), alias, seen)
            version = models.find(tx, back.model_id).version
            audit.note(tx, database.caller, "alias.rollback", back.model_id, **_told(back, version))
            return posts.Made(str(back.number), 200)

    return roll
