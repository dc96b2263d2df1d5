"""projects, keys, sessions, audit, usage; what there is belongs to the default project"""

import time
from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0002"
down_revision: str | None = "0001"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

DEFAULT = "prj_" + "0" * 26
UNLIMITED = dict.fromkeys(("stored_bytes", "jobs_per_day", "jobs_queued", "predictions_per_day"))
OWNED = ("datasets", "jobs", "models")
QUEUED = sa.text("state = 'queued'")


def upgrade() -> None:
    projects = op.create_table(
        "projects",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("quotas", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.Float(precision=53), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_projects")),
    )
    row = {"id": DEFAULT, "name": "default", "quotas": UNLIMITED, "created_at": time.time()}
    op.bulk_insert(projects, [row])
    _access()
    for table in OWNED:
        op.add_column(table, _project())
        op.create_index(f"ix_{table}_project_id_id", table, ["project_id", "id"])
    op.add_column("jobs", sa.Column("made_by", sa.String(length=32), nullable=True))
    op.add_column("jobs", sa.Column("request_id", sa.String(length=64), nullable=True))
    op.create_index(
        "ix_jobs_project_queue", "jobs", ["project_id"], sqlite_where=QUEUED, postgresql_where=QUEUED
    )
    _receipts(sa.Column("project_id", sa.String(length=32), nullable=False), kept=f"'{DEFAULT}', ")


def _access() -> None:
    op.create_table(
        "keys",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("prefix", sa.String(length=16), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("scopes", sa.JSON(), nullable=False),
        sa.Column("rate", sa.Integer(), nullable=True),
        sa.Column("created_at", sa.Float(precision=53), nullable=False),
        sa.Column("expires_at", sa.Float(precision=53), nullable=True),
        sa.Column("last_used_at", sa.Float(precision=53), nullable=True),
        sa.Column("revoked_at", sa.Float(precision=53), nullable=True),
        _project(),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_keys")),
        sa.UniqueConstraint("prefix", name=op.f("uq_keys_prefix")),
    )
    op.create_index("ix_keys_project_id_id", "keys", ["project_id", "id"])
    op.create_table(
        "sessions",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("key_id", sa.String(length=32), nullable=False),
        sa.Column("key_sha256", sa.String(length=64), nullable=False),
        sa.Column("expires_at", sa.Float(precision=53), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sessions")),
    )
    op.create_index(op.f("ix_sessions_expires_at"), "sessions", ["expires_at"])
    op.create_table(
        "audit",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("at", sa.Float(precision=53), nullable=False),
        sa.Column("key_id", sa.String(length=32), nullable=False),
        sa.Column("action", sa.String(length=32), nullable=False),
        sa.Column("target", sa.String(length=32), nullable=False),
        sa.Column("request_id", sa.String(length=64), nullable=True),
        sa.Column("detail", sa.JSON(), nullable=False),
        _project(),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit")),
    )
    op.create_index("ix_audit_project_id_id", "audit", ["project_id", "id"])
    op.create_table(
        "usage",
        sa.Column("project_id", sa.String(length=32), nullable=False),
        sa.Column("day", sa.String(length=10), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("amount", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "day", "kind", name=op.f("pk_usage")),
    )


def _project() -> sa.Column[str]:
    return sa.Column("project_id", sa.String(length=32), server_default=DEFAULT, nullable=False)


def _receipts(*owner: sa.Column[str], kept: str) -> None:
    """Make the table anew, as SQLite cannot change a primary key, and keep its rows: a retry may be on its way."""
    columns = "key, request, resource, status, created_at"
    op.execute(f"CREATE TABLE receipts_kept AS SELECT {kept}{columns} FROM receipts")  # noqa: S608 # nosec B608 # constants
    op.drop_table("receipts")
    op.create_table(
        "receipts",
        *owner,
        sa.Column("key", sa.String(length=128), nullable=False),
        sa.Column("request", sa.String(length=64), nullable=False),
        sa.Column("resource", sa.String(length=32), nullable=False),
        sa.Column("status", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.Float(precision=53), nullable=False),
        sa.PrimaryKeyConstraint(*(column.name for column in owner), "key", name=op.f("pk_receipts")),
    )
    op.create_index(op.f("ix_receipts_created_at"), "receipts", ["created_at"], unique=False)
    op.execute("INSERT INTO receipts SELECT * FROM receipts_kept")
    op.drop_table("receipts_kept")


def downgrade() -> None:
    op.execute(f"DELETE FROM receipts WHERE project_id <> '{DEFAULT}'")  # noqa: S608 # nosec B608 # keys of two may be equal
    _receipts(kept="")
    op.drop_index("ix_jobs_project_queue", table_name="jobs")
    op.drop_column("jobs", "request_id")
    op.drop_column("jobs", "made_by")
    for table in OWNED:
        op.drop_index(f"ix_{table}_project_id_id", table_name=table)
        op.drop_column(table, "project_id")
    for table in ("usage", "audit", "sessions", "keys", "projects"):
        op.drop_table(table)
