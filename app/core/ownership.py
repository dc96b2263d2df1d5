"""Whose a row is. Times are seconds since 1970 by the database's clock; JSON columns hold plain data.

A session on behalf of a caller sees no row of another project, whatever is asked through it: one forgotten `where` in
one handler would be a leak, so there is none to forget.
"""

import copy
from typing import Any

from sqlalchemy import JSON, BigInteger, Float, Index, MetaData, String, event
from sqlalchemy.orm import (
    DeclarativeBase,
    Mapped,
    ORMExecuteState,
    Session,
    mapped_column,
    with_loader_criteria,
)

from app.core.callers import DEFAULT_PROJECT, Caller
from app.core.db import Database, now

NAMES = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}


class Table(DeclarativeBase):
    metadata = MetaData(naming_convention=NAMES)
    type_annotation_map = {  # noqa: RUF012 - SQLAlchemy's own way
        dict[str, Any]: JSON,
        list[Any]: JSON,
        float: Float(53),
    }


class Owned:
    """What belongs to a project. A session on behalf of a caller never sees the rows of another (`_isolate`)."""

    project_id: Mapped[str] = mapped_column(
        String(32), default=DEFAULT_PROJECT, server_default=DEFAULT_PROJECT
    )


@event.listens_for(Session, "do_orm_execute")
def _isolate(state: ORMExecuteState) -> None:
    caller = state.session.info.get("caller")
    if caller is not None:
        project = caller.project_id
        ours = with_loader_criteria(Owned, lambda table: table.project_id == project, include_aliases=True)
        state.statement = state.statement.options(ours)


def of(database: Database, caller: Caller) -> Database:
    """The same database as a caller sees it: without the rows of other projects."""
    twin = copy.copy(database)
    twin.caller = caller
    return twin


class Project(Table):
    """A tenant: its keys see what is its own."""

    __tablename__ = "projects"

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    name: Mapped[str] = mapped_column(String(200))
    quotas: Mapped[dict[str, Any]]  # what differs from the settings; null: no limit
    created_at: Mapped[float] = mapped_column(default=now())


class Key(Owned, Table):
    """A credential, without its secret; one that is revoked stays for the audit."""

    __tablename__ = "keys"

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    name: Mapped[str] = mapped_column(String(200))
    prefix: Mapped[str] = mapped_column(String(16), unique=True)  # the part of the secret that is none
    sha256: Mapped[str] = mapped_column(String(64))
    scopes: Mapped[list[Any]]
    rate: Mapped[int | None]  # requests per minute
    created_at: Mapped[float] = mapped_column(default=now())
    expires_at: Mapped[float | None]
    last_used_at: Mapped[float | None]
    revoked_at: Mapped[float | None]

    __table_args__ = (Index("ix_keys_project_id_id", "project_id", "id"),)


class Login(Table):
    """A browser's session; its id is a hash of what the cookie holds."""

    __tablename__ = "sessions"

    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    key_id: Mapped[str] = mapped_column(String(32))
    key_sha256: Mapped[str] = mapped_column(String(64))  # a key that was replaced ends its sessions
    expires_at: Mapped[float] = mapped_column(index=True)


class Audit(Owned, Table):
    """Who changed what; the making of a job is in the job's own row."""

    __tablename__ = "audit"

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    at: Mapped[float] = mapped_column(default=now())
    key_id: Mapped[str] = mapped_column(String(32))
    action: Mapped[str] = mapped_column(String(32))
    target: Mapped[str] = mapped_column(String(32))
    request_id: Mapped[str | None] = mapped_column(String(64))
    detail: Mapped[dict[str, Any]]

    __table_args__ = (Index("ix_audit_project_id_id", "project_id", "id"),)


class Usage(Table):
    """What a project used on a day."""

    __tablename__ = "usage"

    project_id: Mapped[str] = mapped_column(String(32), primary_key=True)
    day: Mapped[str] = mapped_column(String(10), primary_key=True)
    kind: Mapped[str] = mapped_column(String(16), primary_key=True)
    amount: Mapped[int] = mapped_column(BigInteger)


class Worker(Table):
    """A worker as it told of itself when it was last seen. It works for every project, so it is of none."""

    __tablename__ = "workers"

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    owner: Mapped[str] = mapped_column(String(200))  # its first process, as jobs name theirs
    facts: Mapped[dict[str, Any]]  # core.workers.Facts
    created_at: Mapped[float] = mapped_column(default=now())
    seen_at: Mapped[float] = mapped_column(default=now())
