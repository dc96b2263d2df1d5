"""What handlers share: the database and the store, cursors, conditional answers, and posts that count once."""

import datetime
import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Generic, Protocol, TypeVar

import orjson
from fastapi import Depends, Header, Path, Query, Request, Response
from pydantic import BaseModel, BeforeValidator, ConfigDict, WithJsonSchema
from sqlalchemy import Select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from app.core import errors, ids, receipts
from app.core.db import Database
from app.core.settings import Settings
from app.core.storage import Store


async def _settings(request: Request) -> Settings:
    found: Settings = request.app.state.settings
    return found


async def _database(request: Request) -> Database:
    found: Database = request.app.state.database
    return found


async def _store(request: Request) -> Store:
    found: Store = request.app.state.store
    return found


Config = Annotated[Settings, Depends(_settings)]
Db = Annotated[Database, Depends(_database)]
Files = Annotated[Store, Depends(_store)]

DatasetId = Annotated[str, Path(pattern=ids.pattern("ds"))]
JobId = Annotated[str, Path(pattern=ids.pattern("job"))]
ModelId = Annotated[str, Path(pattern=ids.pattern("mdl"))]
Key = Annotated[
    str | None,
    Header(alias="Idempotency-Key", description="The same request with the same key is done once, for 24 h."),
]
Known = Annotated[
    str | None, Header(alias="If-None-Match", description="An ETag; 304 while it is still the current one.")
]


def rfc3339(seconds: object) -> object:
    """Seconds since 1970 as a time in UTC."""
    if not isinstance(seconds, int | float):
        return seconds
    time = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


Time = Annotated[
    str,
    BeforeValidator(rfc3339),
    WithJsonSchema({"type": "string", "format": "date-time"}, mode="serialization"),
]


class Row(Protocol):
    """Anything with an id."""

    id: Any


T = TypeVar("T", bound=Row)


class Out(BaseModel):
    """What leaves the service; a field named like a word of Python's (`class_`) leaves without its underscore."""

    model_config = ConfigDict(
        from_attributes=True,
        alias_generator=lambda name: name.rstrip("_"),
        validate_by_name=True,
        serialize_by_alias=True,
    )


class Listed(Out):
    """Something that lists hold."""

    id: str


Item = TypeVar("Item", bound=Listed)


class Page(Out, Generic[Item]):
    """A part of a list, newest first."""

    data: list[Item]
    has_more: bool
    next_cursor: str | None  # the `after` of the next page


@dataclass(frozen=True)
class Cursor:
    """Where a page begins and how long it is."""

    limit: Annotated[int, Query(ge=1, le=100)] = 20
    after: Annotated[
        str | None,
        Query(max_length=40, pattern=r"^[a-z0-9_]+$", description="`next_cursor` of the page before"),
    ] = None

    def rows(self, tx: Session, chosen: Select[T], table: type[T]) -> tuple[Sequence[T], bool]:
        """The rows of the page, and whether more follow; ids sort by age."""
        if self.after is not None:
            if not re.fullmatch(CURSORS[table.__name__], self.after):
                fault = {"pointer": "?after", "code": "invalid", "detail": "not a next_cursor of this list"}
                raise errors.Invalid("the cursor is not one of this list", errors=[fault])
            chosen = chosen.where(table.id < self.after)
        found = tx.scalars(chosen.order_by(table.id.desc()).limit(self.limit + 1)).all()
        return found[: self.limit], len(found) > self.limit


Paging = Annotated[Cursor, Depends()]
CURSORS = {"Dataset": ids.pattern("ds"), "Job": ids.pattern("job"), "Model": ids.pattern("mdl")}  # by table


def page(items: Sequence[Item], has_more: bool) -> Page[Item]:
    """Items as a page of a list."""
    return Page(data=list(items), has_more=has_more, next_cursor=items[-1].id if has_more else None)


def unchanging(body: bytes, known: str | None, media_type: str = "application/json") -> Response:
    """An answer that will never change, or 304 to a client that has it."""
    tag = f'"{hashlib.sha256(media_type.encode() + body).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": "private, no-cache", "Vary": "Accept"}
    if known is not None and any(_bare(part) in (tag, "*") for part in known.split(",")):
        return Response(status_code=304, headers=headers)
    return Response(body, media_type=media_type, headers=headers)


def plain(value: object) -> bytes:
    """Plain data as JSON, the same bytes for the same data."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def _bare(tag: str) -> str:
    return tag.strip().removeprefix("W/")


@dataclass(frozen=True)
class Made:
    """What a post made, now or the first time it was sent."""

    resource: str
    status: int
    again: bool = False


def once(database: Database, key: str | None, request: str, make: Callable[[Session], Made]) -> Made:
    """Make something in one transaction, unless the same request with this key did so before."""
    try:
        with database.begin() as tx:
            if (before := _earlier(tx, key, request)) is not None:
                return before
            made = make(tx)
            if key is not None:
                receipts.keep(tx, key, request, resource=made.resource, status=made.status)
            return made
    except IntegrityError as exc:  # somebody with the same key was faster
        if (before := replayed(database, key, request)) is not None:
            return before
        raise errors.Conflict("something that the request needs was deleted meanwhile") from exc


def _earlier(tx: Session, key: str | None, request: str) -> Made | None:
    found = None if key is None else receipts.earlier(tx, receipts.check(key), request)
    return None if found is None else Made(found.resource, found.status, again=True)


def replayed(database: Database, key: str | None, request: str) -> Made | None:
    """What this request with this key made before."""
    with database.read() as tx:
        return _earlier(tx, key, request)
