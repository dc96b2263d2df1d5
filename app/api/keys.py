"""API keys, for admins: the secret is in the answer that makes a key, and nowhere else."""

import time
from typing import Annotated

from fastapi import APIRouter, Request
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field
from sqlalchemy import select

from app.api import deps, problems, strict
from app.core import audit, errors, ids, keys, projects
from app.core.callers import Scope
from app.core.ownership import Key

router = APIRouter(prefix="/keys", route_class=strict.Strict, tags=["keys"], responses=problems.documented())


class KeyIn(BaseModel):
    """A key for a project: the caller's own, if none is named."""

    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, Field(min_length=1, max_length=200)]
    scopes: Annotated[list[Scope], Field(min_length=1, max_length=4)]
    project_id: Annotated[str | None, Field(pattern=ids.pattern("prj"))] = None
    expires_at: AwareDatetime | None = None  # None: never
    requests_per_minute: Annotated[int | None, Field(ge=1, le=10**6)] = None  # None: as the settings say


class KeyOut(deps.Listed):
    """A key without its secret; `prefix` is how the secret begins."""

    project_id: str
    name: str
    prefix: str
    scopes: list[Scope]
    requests_per_minute: Annotated[int | None, Field(validation_alias="rate")]
    created_at: deps.Time
    expires_at: deps.Time | None
    last_used_at: deps.Time | None  # to the minute
    revoked_at: deps.Time | None


class NewKey(KeyOut):
    """The only answer that holds the secret."""

    secret: str


@router.post(
    "",
    status_code=201,
    summary="Make a key",
    responses={201: {"description": "The key, with its secret"}, **problems.documented(400)},
)
def create(body: KeyIn, settings: deps.Config, database: deps.Db, who: deps.Who) -> NewKey:
    expires = body.expires_at.timestamp() if body.expires_at else None
    if expires is not None:
        _check(expires)
    with database.begin() as tx:
        key, secret = keys.create(
            tx,
            name=body.name,
            project_id=projects.find(tx, body.project_id or who.project_id).id,
            scopes=body.scopes,
            rate=body.requests_per_minute or settings.limits.requests_per_minute,
            expires_at=expires,
        )
        audit.note(
            tx, who, "key.create", key.id, prefix=key.prefix, scopes=key.scopes, project=key.project_id
        )
    return NewKey.model_validate(KeyOut.model_validate(key).model_dump() | {"secret": secret})


def _check(expires: float) -> None:
    if expires <= time.time():
        fault = {"pointer": "/expires_at", "code": "past", "detail": "is in the past"}
        raise errors.Invalid("a key cannot have expired already", errors=[fault])
    if expires > deps.LATEST:
        fault = {"pointer": "/expires_at", "code": "too_late", "detail": "is after 9999-12-31T23:59:59Z"}
        raise errors.Invalid("a key that never expires has no expires_at", errors=[fault])


@router.get("", summary="The keys of the project, newest first")
def index(database: deps.Db, cursor: deps.Paging) -> deps.Page[KeyOut]:
    with database.read() as tx:
        rows, more = cursor.rows(tx, select(Key), Key)
    return deps.page([KeyOut.model_validate(row) for row in rows], more)


@router.get("/{key_id}", summary="A key")
def show(key_id: deps.KeyId, database: deps.All) -> KeyOut:
    with database.read() as tx:
        return KeyOut.model_validate(keys.find(tx, key_id))


@router.delete("/{key_id}", status_code=204, summary="Revoke a key")
def revoke(key_id: deps.KeyId, request: Request, database: deps.All, who: deps.Who) -> None:
    """A key of any project. Every process knows after 5 seconds at most, and with the key end its sessions."""
    with database.begin() as tx:
        keys.revoke(tx, key_id)
        audit.note(tx, who, "key.revoke", key_id)
    request.app.state.keyring.forget()
