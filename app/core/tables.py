"""The tables of the work: datasets, jobs, events, decisions, models, aliases, receipts; others are in `ownership`."""

import enum
from typing import Any, Literal

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    ForeignKey,
    Index,
    String,
    Text,
    UniqueConstraint,
    literal_column,
    text,
)
from sqlalchemy.orm import Mapped, mapped_column

from app.core.callers import DEFAULT_PROJECT
from app.core.db import now
from app.core.ownership import Owned, Table

Task = Literal["train", "ingest", "predict"]


class State(enum.StrEnum):
    """Where a job is; the last three never change."""

    queued = "queued"
    running = "running"
    cancelling = "cancelling"
    succeeded = "succeeded"
    failed = "failed"
    cancelled = "cancelled"


ENDED = (State.succeeded, State.failed, State.cancelled)
ACTIVE = (State.running, State.cancelling)


class Intake(enum.StrEnum):
    """Where a dataset is."""

    validating = "validating"
    ready = "ready"
    refused = "refused"


class Dataset(Owned, Table):
    """Rows of a user's, immutable once ready."""

    __tablename__ = "datasets"

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    name: Mapped[str] = mapped_column(String(200))
    state: Mapped[Intake] = mapped_column(String(16))
    options: Mapped[dict[str, Any]]
    bytes: Mapped[int] = mapped_column(BigInteger)  # of the uploaded file
    source_sha256: Mapped[str] = mapped_column(String(64))
    sha256: Mapped[str | None] = mapped_column(String(64))  # of all that training sees
    kind: Mapped[str | None] = mapped_column(String(16))
    rows: Mapped[int | None] = mapped_column(BigInteger)
    classes: Mapped[list[Any] | None]  # names
    shape: Mapped[dict[str, Any] | None]  # c2s.shape.Shape
    report: Mapped[dict[str, Any] | None]
    error: Mapped[dict[str, Any] | None]
    parent_id: Mapped[str | None] = mapped_column(String(32))  # the dataset whose labels were put right
    job_id: Mapped[str | None] = mapped_column(String(32))  # and the job that they were reviewed in
    created_at: Mapped[float] = mapped_column(default=now())

    __table_args__ = (
        CheckConstraint("state in ('validating', 'ready', 'refused')", name="state"),
        Index("ix_datasets_project_id_id", "project_id", "id"),
    )


class Job(Owned, Table):
    """A training, the reading of a large file, or predictions for many rows; the row is the truth about it."""

    __tablename__ = "jobs"

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    task: Mapped[str] = mapped_column(String(16))
    state: Mapped[State] = mapped_column(String(16), default=State.queued)
    phase: Mapped[str | None] = mapped_column(String(16))
    dataset_id: Mapped[str | None] = mapped_column(ForeignKey("datasets.id", ondelete="SET NULL"))
    name: Mapped[str | None] = mapped_column(String(200))  # of the model that it will publish
    config: Mapped[dict[str, Any]]  # as resolved when the job was made
    manifest: Mapped[dict[str, Any]]  # all that is needed to run it again
    rank: Mapped[int] = mapped_column(default=0)  # smaller first: minus the priority
    retry_of: Mapped[str | None] = mapped_column(String(32))
    made_by: Mapped[str | None] = mapped_column(String(32))  # the key; with the next, the audit of its making
    request_id: Mapped[str | None] = mapped_column(String(64))

    fence: Mapped[int] = mapped_column(default=0)  # raised by each claim; writes name it
    owner: Mapped[str | None] = mapped_column(String(200))
    lease_until: Mapped[float | None]
    attempts: Mapped[int] = mapped_column(default=0)
    crashes: Mapped[int] = mapped_column(default=0)  # since the last new checkpoint
    preemptions: Mapped[int] = mapped_column(default=0)  # drains: not the job's fault
    shrink: Mapped[int] = mapped_column(default=0)  # how often the batch was halved for want of memory
    cancel_requested: Mapped[bool] = mapped_column(default=False)

    progress: Mapped[dict[str, Any] | None]
    error: Mapped[dict[str, Any] | None]
    result: Mapped[dict[str, Any] | None]
    last_event: Mapped[int] = mapped_column(default=0)
    created_at: Mapped[float] = mapped_column(default=now())
    started_at: Mapped[float | None]
    finished_at: Mapped[float | None]

    __table_args__ = (
        CheckConstraint(
            "state in ('queued', 'running', 'cancelling', 'succeeded', 'failed', 'cancelled')", name="state"
        ),
        CheckConstraint("task in ('train', 'ingest', 'predict')", name="task"),
        Index(
            "ix_jobs_queue",
            "rank",
            "id",
            sqlite_where=text("state = 'queued'"),
            postgresql_where=text("state = 'queued'"),
        ),
        Index(
            "ix_jobs_lease",
            "lease_until",
            sqlite_where=text("state IN ('running', 'cancelling')"),
            postgresql_where=text("state IN ('running', 'cancelling')"),
        ),
        Index("ix_jobs_dataset_id", "dataset_id"),
        Index("ix_jobs_task_state_id", "task", "state", "id"),  # counts by state, and the oldest that waits
        Index("ix_jobs_project_id_id", "project_id", "id"),
        Index(
            "ix_jobs_project_queue",
            "project_id",
            sqlite_where=text("state = 'queued'"),
            postgresql_where=text("state = 'queued'"),
        ),
    )


# As literals, not parameters: only then does the planner know that a partial index holds all that is asked for.
IS_QUEUED = Job.state == literal_column("'queued'")
IS_ACTIVE = Job.state.in_([literal_column("'running'"), literal_column("'cancelling'")])


class Event(Table):
    """What happened to a job, numbered from 1 without a gap."""

    __tablename__ = "events"

    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    type: Mapped[str] = mapped_column(String(16))
    data: Mapped[dict[str, Any]]
    at: Mapped[float] = mapped_column(default=now())


class Decision(Owned, Table):
    """What a person said of the label of a row; `label` is a place among the classes that the job judged."""

    __tablename__ = "decisions"

    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    row: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)  # from 0, as in the dataset
    decision: Mapped[str] = mapped_column(String(16))
    label: Mapped[int]
    decided_by: Mapped[str] = mapped_column(String(32))  # the key
    decided_at: Mapped[float] = mapped_column(default=now())

    __table_args__ = (CheckConstraint("decision in ('accept', 'keep', 'relabel')", name="decision"),)


class Model(Owned, Table):
    """A published classifier; a job publishes at most one."""

    __tablename__ = "models"

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id"), unique=True)
    name: Mapped[str] = mapped_column(String(200), index=True)
    version: Mapped[int]  # of the name in its project: 1, 2, ..., never given twice
    folder: Mapped[str] = mapped_column(Text)  # a key of the store
    sha256: Mapped[str] = mapped_column(String(64))  # of the weights
    card: Mapped[dict[str, Any]]
    created_at: Mapped[float] = mapped_column(default=now())

    __table_args__ = (
        Index("ix_models_project_id_id", "project_id", "id"),
        UniqueConstraint("project_id", "name", "version"),
    )


class ModelName(Owned, Table):
    """A name that models were published under; its count outlives them, so that no number comes back."""

    __tablename__ = "model_names"

    project_id: Mapped[str] = mapped_column(String(32), primary_key=True)
    name: Mapped[str] = mapped_column(String(200), primary_key=True)
    last_version: Mapped[int]


class Alias(Owned, Table):
    """A word that points at a version of a name."""

    __tablename__ = "aliases"

    project_id: Mapped[str] = mapped_column(String(32), primary_key=True)
    name: Mapped[str] = mapped_column(String(200), primary_key=True)
    alias: Mapped[str] = mapped_column(String(64), primary_key=True)
    model_id: Mapped[str] = mapped_column(ForeignKey("models.id"), index=True)
    number: Mapped[int]  # of its last move; grows for ever, also when the alias is deleted and made again
    moved_at: Mapped[float] = mapped_column(default=now())


class AliasMove(Owned, Table):
    """What once happened to an alias; versions that are gone stay in it."""

    __tablename__ = "alias_moves"

    project_id: Mapped[str] = mapped_column(String(32), primary_key=True)
    name: Mapped[str] = mapped_column(String(200), primary_key=True)
    alias: Mapped[str] = mapped_column(String(64), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    action: Mapped[str] = mapped_column(String(16))  # set | rollback | delete
    model_id: Mapped[str | None] = mapped_column(String(32))
    version: Mapped[int | None]
    back: Mapped[int | None]  # the move that a rollback from here returns to
    at: Mapped[float] = mapped_column(default=now())


class Receipt(Table):
    """What a POST with an Idempotency-Key was answered; the key is a project's own."""

    __tablename__ = "receipts"

    project_id: Mapped[str] = mapped_column(String(32), primary_key=True, default=DEFAULT_PROJECT)
    key: Mapped[str] = mapped_column(String(128), primary_key=True)
    request: Mapped[str] = mapped_column(String(64))  # a hash of path, query and body
    resource: Mapped[str] = mapped_column(String(32))  # the id that it made
    status: Mapped[int]
    created_at: Mapped[float] = mapped_column(default=now(), index=True)
