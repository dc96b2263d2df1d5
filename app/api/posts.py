"""Posts that count once, however often they are sent."""

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from app.api import deps
from app.core import errors, receipts
from app.core.db import Database, Tx


@dataclass(frozen=True)
class Made:
    """What a post made, now or the first time it was sent."""

    resource: str
    status: int
    again: bool = False


def once(
    database: Database,
    key: str | None,
    request: str,
    make: Callable[[Connection], Made],
    *,
    alone: bool = False,
) -> Made:
    """Make something in one transaction, unless the same request with this key did so before.

    `alone`: making it is one statement.
    """
    project = deps.project_of(database)

    def work(tx: Connection) -> Made:
        if (before := _earlier(tx, project, key, request)) is not None:
            return before
        made = make(tx)
        if key is not None:
            receipts.keep(tx, project, key, request=request, resource=made.resource, status=made.status)
        return made

    try:
        return database.write(work, alone=alone and key is None)
    except IntegrityError as exc:  # somebody with the same key was faster
        if (before := replayed(database, key, request)) is not None:
            return before
        raise errors.Conflict("something that the request needs was deleted meanwhile") from exc


def _earlier(tx: Tx, project_id: str, key: str | None, request: str) -> Made | None:
    found = None if key is None else receipts.earlier(tx, project_id, receipts.check(key), request)
    return None if found is None else Made(found.resource, found.status, again=True)


def replayed(database: Database, key: str | None, request: str) -> Made | None:
    """What this request with this key made before."""
    if key is None:
        return None
    with database.read() as tx:
        return _earlier(tx, deps.project_of(database), key, request)
