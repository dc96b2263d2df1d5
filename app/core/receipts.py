"""Idempotency-Key: a POST that is sent twice is done once, and answered alike."""

import hashlib
import re
from typing import Any

from sqlalchemy import Row, delete, insert, select

from app.core import db, errors
from app.core.db import now
from app.core.tables import Receipt

KEPT_SECONDS = 24 * 3600
KEY = re.compile(r"[\x21-\x7e]{1,128}")
_ALL = Receipt.__table__


def check(key: str) -> str:
    """A key that can be kept."""
    if not KEY.fullmatch(key):
        raise errors.BadRequest("Idempotency-Key must be 1 to 128 visible ASCII characters", code="bad_key")
    return key


def digest(*parts: str | bytes) -> str:
    """What a request asks for, as a hash."""
    total = hashlib.sha256()
    for part in parts:
        blob = part.encode() if isinstance(part, str) else part
        total.update(len(blob).to_bytes(8, "big") + blob)
    return total.hexdigest()


def earlier(tx: db.Tx, project_id: str, key: str, request: str) -> Row[Any] | None:
    """What the same request with this key made before; another request with it is refused."""
    receipt = (
        db.plain(tx)
        .execute(select(_ALL).where(_ALL.c.project_id == project_id, _ALL.c.key == key))
        .one_or_none()
    )
    if receipt is not None and receipt.request != request:
        raise errors.Invalid("this Idempotency-Key came with another request", code="idempotency_key_reused")
    return receipt


def known(tx: db.Tx, project_id: str, key: str) -> bool:
    """Whether some request came with this key before."""
    chosen = select(_ALL.c.key).where(_ALL.c.project_id == project_id, _ALL.c.key == check(key))
    return db.plain(tx).execute(chosen).one_or_none() is not None


def keep(tx: db.Tx, project_id: str, key: str, *, request: str, resource: str, status: int) -> None:
    """Remember what a request made, in the transaction that made it; the key's uniqueness settles a race."""
    connection = db.plain(tx)
    connection.execute(delete(Receipt).where(Receipt.created_at < now() - KEPT_SECONDS))
    kept = {"project_id": project_id, "key": key, "request": request, "resource": resource, "status": status}
    connection.execute(insert(Receipt), kept)
