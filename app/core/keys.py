"""API keys: 256 random bits, shown once and kept as a hash. A slow hash would guard nothing that is this random."""

import hashlib
import re
import secrets
from collections.abc import Mapping, Sequence

from sqlalchemy import ColumnElement, select, update
from sqlalchemy.orm import Session

from app.core import access, errors, ids
from app.core.callers import Caller, Limits, Scope
from app.core.db import now
from app.core.ownership import Key, Project

SECRET = re.compile(r"(?P<prefix>c2s_[0-9a-f]{12})_[A-Za-z0-9_-]{43}")


def digest(secret: str) -> str:
    """What is kept of a secret."""
    return hashlib.sha256(secret.encode()).hexdigest()


def create(
    tx: Session,
    *,
    name: str,
    project_id: str,
    scopes: Sequence[Scope],
    rate: int | None,
    expires_at: float | None,
) -> tuple[Key, str]:
    """A key and its secret, which nobody can ask for again."""
    prefix = f"c2s_{secrets.token_hex(6)}"  # names the key in lists and logs; no part of what is secret
    secret = f"{prefix}_{secrets.token_urlsafe(32)}"
    key = Key(
        id=ids.new("key"),
        project_id=project_id,
        name=name,
        prefix=prefix,
        sha256=digest(secret),
        scopes=sorted(set(scopes)),
        rate=rate,
        expires_at=expires_at,
    )
    tx.add(key)
    tx.flush()
    return key, secret


def find(tx: Session, key_id: str) -> Key:
    """The key of this id."""
    key = tx.get(Key, key_id)
    if key is None:
        raise errors.NotFound(f"there is no key {key_id}")
    return key


def revoke(tx: Session, key_id: str) -> None:
    """End a key for good; one that is revoked stays so since the first time."""
    find(tx, key_id)
    tx.execute(update(Key).where(Key.id == key_id, Key.revoked_at.is_(None)).values(revoked_at=now()))


def by_secret(tx: Session, secret: str, limits: Limits) -> tuple[Caller, float | None] | None:
    """Whom a secret lets in, and for how many seconds more; None: nobody."""
    shape = SECRET.fullmatch(secret)
    found = shape and _holder(tx, Key.prefix == shape["prefix"], limits)
    if not found or not access.matches(digest(secret), found[2]):
        return None
    return found[0], found[1]


def by_id(tx: Session, key_id: str, sha256: str, limits: Limits) -> tuple[Caller, float | None] | None:
    """The same for a session that this key opened."""
    found = _holder(tx, Key.id == key_id, limits)
    return (found[0], found[1]) if found and access.matches(sha256, found[2]) else None


def _holder(
    tx: Session, chosen: ColumnElement[bool], limits: Limits
) -> tuple[Caller, float | None, str] | None:
    columns = select(Key, Project.quotas, Key.expires_at - now()).join(Project, Project.id == Key.project_id)
    row = tx.execute(columns.where(chosen, Key.revoked_at.is_(None))).one_or_none()
    if row is None:
        return None
    key, quotas, left = row
    if left is not None and left <= 0:
        return None
    caller = Caller(key.id, key.project_id, frozenset(key.scopes), limits.quotas(quotas), key.rate)
    return caller, left, key.sha256


def touch(tx: Session, used: Mapping[str, float]) -> None:
    """Note when keys were last used."""
    for key_id, at in used.items():
        tx.execute(update(Key).where(Key.id == key_id).values(last_used_at=at))
