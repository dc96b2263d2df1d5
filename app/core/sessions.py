"""A browser's session: a random value in a cookie, of which a hash is kept, and which ends with its key."""

import hashlib
import hmac
import secrets

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from app.core import keys
from app.core.db import now
from app.core.ownership import Login

SECONDS = 12 * 3600.0


def open_(tx: Session, key_id: str, key_sha256: str) -> str:
    """A new session on behalf of a key; the answer is the cookie's value."""
    tx.execute(delete(Login).where(Login.expires_at < now()))
    value = secrets.token_urlsafe(32)
    login = Login(id=keys.digest(value), key_id=key_id, key_sha256=key_sha256, expires_at=now() + SECONDS)
    tx.add(login)
    return value


def find(tx: Session, value: str) -> tuple[Login, float] | None:
    """A session that has not ended, and its seconds left."""
    row = tx.execute(
        select(Login, Login.expires_at - now()).where(Login.id == keys.digest(value))
    ).one_or_none()
    return None if row is None or row[1] <= 0 else (row[0], row[1])


def close(tx: Session, value: str) -> None:
    """End a session."""
    tx.execute(delete(Login).where(Login.id == keys.digest(value)))


def csrf_token(value: str) -> str:
    """What a page of ours can learn and a foreign one cannot; it ends with the session."""
    return hmac.new(value.encode(), b"csrf", hashlib.sha256).hexdigest()
