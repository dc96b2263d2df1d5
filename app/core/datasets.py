"""Datasets as rows: registered when an upload is read, or beforehand when a worker will read it."""

import functools
from typing import Any

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from app.core import errors, jobs
from app.core.db import Database, Tx
from app.core.tables import ENDED, Dataset, Intake, Job, State

REMEMBERED = 64


def find(tx: Session, dataset_id: str) -> Dataset:
    """The dataset of this id."""
    dataset = tx.get(Dataset, dataset_id)
    if dataset is None:
        raise errors.NotFound(f"there is no dataset {dataset_id}")
    return dataset


def ready(tx: Session, dataset_id: str, project_id: str | None = None) -> Dataset:
    """The dataset of this id, if jobs of the project can use it."""
    dataset = tx.get(Dataset, dataset_id)
    if dataset is None or project_id not in (None, dataset.project_id):
        fault = {"pointer": "/dataset_id", "code": "not_found", "detail": "there is no such dataset"}
        raise errors.Invalid(f"there is no dataset {dataset_id}", code="unknown_dataset", errors=[fault])
    if dataset.state != Intake.ready:
        raise errors.Conflict(f"dataset {dataset_id} is {dataset.state}", code="dataset_not_ready")
    return dataset


class Ready:
    """Datasets that jobs were lately made on. A ready one never changes; a deleted one shows when the job is made."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.find = functools.lru_cache(REMEMBERED)(self._find)
        self.forget = self.find.cache_clear

    def _find(self, dataset_id: str, project_id: str) -> Dataset:
        with self._database.read() as tx:
            return ready(tx, dataset_id, project_id)


def facts(report: dict[str, Any], shape: dict[str, Any]) -> dict[str, Any]:
    """The columns that a report fills."""
    return {
        "state": Intake.ready,
        "report": report,
        "shape": shape,
        "sha256": report["sha256"],
        "kind": report["kind"],
        "rows": report["rows"],
        "classes": [entry["name"] for entry in report["classes"]],
    }


def settle(tx: Session, dataset_id: str, **values: Any) -> None:
    """Write what reading the file gave; a dataset that is settled never changes."""
    open_ = Dataset.state == Intake.validating
    tx.execute(update(Dataset).where(Dataset.id == dataset_id, open_).values(**values))


def remove(tx: Session, dataset_id: str) -> None:
    """Delete the row, unless a job still needs the bytes."""
    tx.get(Dataset, dataset_id, with_for_update=True)  # a job made meanwhile is seen, or refused
    dataset = find(tx, dataset_id)
    unread = select(Job.id).where(
        Job.dataset_id == dataset_id, Job.task == "ingest", Job.state == State.queued
    )
    for job_id in tx.scalars(unread).all():
        jobs.request_cancel(tx, job_id)
    busy = select(func.count()).select_from(Job).where(Job.dataset_id == dataset_id, Job.state.not_in(ENDED))
    if count := tx.scalar(busy):
        raise errors.Conflict(f"{count} jobs still need dataset {dataset_id}", code="dataset_in_use")
    made = select(Dataset.id).where(Dataset.parent_id == dataset_id, Dataset.state == Intake.validating)
    if child := tx.scalar(made.limit(1)):
        raise errors.Conflict(f"dataset {child} is being made of dataset {dataset_id}", code="dataset_in_use")
    tx.delete(dataset)


def hold(tx: Tx, dataset_id: str) -> None:
    """Keep a dataset from being deleted until this transaction has made what needs it."""
    there = select(Dataset.id).where(Dataset.id == dataset_id).with_for_update(read=True)
    if tx.scalar(there) is None:
        raise errors.Conflict(f"dataset {dataset_id} was deleted", code="dataset_deleted")
