"""What handlers share: the database and the store, cursors, conditional answers, and posts that count once."""

import dataclasses
import datetime
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Generic, Protocol, TypeVar

import orjson
from fastapi import Depends, Header, Path, Query, Request, Response
from pydantic import BaseModel, BeforeValidator, ConfigDict, WithJsonSchema
from sqlalchemy import Select
from sqlalchemy.orm import Session

from app.core import ballast, datasets, errors, ids, ownership
from app.core.callers import DEFAULT_PROJECT, NOBODY, Caller
from app.core.db import Database
from app.core.settings import Settings
from app.core.storage import Store


async def _settings(request: Request) -> Settings:
    found: Settings = request.app.state.settings
    return found


def caller_of(request: Request) -> Caller:
    """Who asks, and by which request: what it changes is noted under both."""
    found: Caller = getattr(request.state, "caller", NOBODY)
    return dataclasses.replace(found, request_id=getattr(request.state, "request_id", None))


async def _caller(request: Request) -> Caller:
    return caller_of(request)


def database_of(request: Request) -> Database:
    """The database as the caller sees it."""
    return ownership.of(whole_database(request), caller_of(request))


def whole_database(request: Request) -> Database:
    """The database with the rows of everybody."""
    found: Database = request.app.state.database
    return found


async def _database(request: Request) -> Database:
    return database_of(request)


async def _whole_database(request: Request) -> Database:
    return whole_database(request)


async def _store(request: Request) -> Store:
    found: Store = request.app.state.store
    return found


async def _ready(request: Request) -> datasets.Ready:
    found: datasets.Ready = request.app.state.datasets
    return found


async def _ballast(request: Request) -> ballast.Ballast:
    found: ballast.Ballast = request.app.state.ballast
    return found


Config = Annotated[Settings, Depends(_settings)]
Db = Annotated[Database, Depends(_database)]  # as the caller sees it: without other projects' rows
All = Annotated[Database, Depends(_whole_database)]  # for admins and probes
Who = Annotated[Caller, Depends(_caller)]
Files = Annotated[Store, Depends(_store)]
Datasets = Annotated[datasets.Ready, Depends(_ready)]
Spare = Annotated[ballast.Ballast, Depends(_ballast)]

DatasetId = Annotated[str, Path(pattern=ids.pattern("ds"))]
JobId = Annotated[str, Path(pattern=ids.pattern("job"))]
ModelId = Annotated[str, Path(pattern=ids.pattern("mdl"))]
KeyId = Annotated[str, Path(pattern=ids.pattern("key"))]
ProjectId = Annotated[str, Path(pattern=ids.pattern("prj"))]
Key = Annotated[
    str | None,
    Header(alias="Idempotency-Key", description="The same request with the same key is done once, for 24 h."),
]
Force = Annotated[
    bool,
    Query(description="also if labels were decided on and no dataset was made of that, which is lost then"),
]
Known = Annotated[
    str | None, Header(alias="If-None-Match", description="An ETag; 304 while it is still the current one.")
]
AFTER, RANK = r"^[a-z0-9_]{1,40}$", r"^[0-9]{1,9}$"  # cursors: ids, and ranks of issues
NO_CURSOR = "is not a next_cursor of this list"
LATEST = 253402300799.0  # the last second of the year 9999: no time after it can be written


def rfc3339(seconds: object) -> object:
    """Seconds since 1970 as a time in UTC."""
    if not isinstance(seconds, int | float):
        return seconds
    time = datetime.datetime.fromtimestamp(min(seconds, LATEST), datetime.UTC)
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
        Query(pattern=AFTER, description="`next_cursor` of the page before"),
    ] = None

    def rows(self, tx: Session, chosen: Select[T], table: type[T]) -> tuple[Sequence[T], bool]:
        """The rows of the page, and whether more follow; ids sort by age."""
        if (after := self.checked(table.__name__)) is not None:
            chosen = chosen.where(table.id < after)
        found = tx.scalars(chosen.order_by(table.id.desc()).limit(self.limit + 1)).all()
        return found[: self.limit], len(found) > self.limit

    def checked(self, table: str) -> str | None:
        """The cursor, if it can be one of this list."""
        if self.after is not None and not re.fullmatch(CURSORS[table], self.after):
            fault = {"parameter": "after", "code": "string_pattern_mismatch", "detail": NO_CURSOR}
            raise errors.Invalid("the cursor is not one of this list", errors=[fault])
        return self.after


Paging = Annotated[Cursor, Depends()]
PREFIXES: dict[str, ids.Prefix] = {
    "Dataset": "ds",
    "Job": "job",
    "Model": "mdl",
    "Key": "key",
    "Project": "prj",
    "Audit": "aud",
    "Worker": "wrk",
}
CURSORS = {table: ids.pattern(prefix) for table, prefix in PREFIXES.items()}


def page(items: Sequence[Item], has_more: bool) -> Page[Item]:
    """Items as a page of a list."""
    return Page(data=list(items), has_more=has_more, next_cursor=items[-1].id if has_more else None)


def unchanging(body: bytes, known: str | None, media_type: str = "application/json") -> Response:
    """An answer that will never change, or 304 to a client that has it."""
    tag = f'"{hashlib.sha256(media_type.encode() + body).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": "private, no-cache", "Vary": "Accept"}
    if has(known, tag):
        return Response(status_code=304, headers=headers)
    return Response(body, media_type=media_type, headers=headers)


def has(known: str | None, tag: str) -> bool:
    """Whether a client has what this ETag names."""
    return known is not None and any(
        part.strip().removeprefix("W/") in (tag, "*") for part in known.split(",")
    )


def plain(value: object) -> bytes:
    """Plain data as JSON, the same bytes for the same data."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def project_of(database: Database) -> str:
    """The project that a database is looked at for."""
    return database.caller.project_id if database.caller else DEFAULT_PROJECT
