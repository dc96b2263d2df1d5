"""Idempotency-Key: a POST that is sent twice is done once, and answered alike."""

import hashlib
import re

from sqlalchemy import delete
from sqlalchemy.orm import Session

from app.core import errors
from app.core.db import now
from app.core.tables import Receipt

KEPT_SECONDS = 24 * 3600
KEY = re.compile(r"[\x21-\x7e]{1,128}")


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


def earlier(tx: Session, key: str, request: str) -> Receipt | None:
    """What the same request with this key made before; another request with it is refused."""
    receipt = tx.get(Receipt, key)
    if receipt is not None and receipt.request != request:
        raise errors.Invalid("this Idempotency-Key came with another request", code="idempotency_key_reused")
    return receipt


def keep(tx: Session, key: str, request: str, *, resource: str, status: int) -> None:
    """Remember what a request made, in the transaction that made it; the key's uniqueness settles a race."""
    tx.execute(delete(Receipt).where(Receipt.created_at < now() - KEPT_SECONDS))
    tx.add(Receipt(key=key, request=request, resource=resource, status=status))
    tx.flush()
