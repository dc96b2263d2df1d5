"""Compares rows with bytes: what no row names is litter, what no byte backs is a loss."""

import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog
from sqlalchemy import select

from app.core.db import Database
from app.core.storage import Store
from app.core.tables import ENDED, Dataset, Intake, Job, Model, State
from c2s import folders

YOUNG_SECONDS = 3600.0  # what may still be in the making is left alone
KEPT_SECONDS = 7 * 86400.0  # what a failed job leaves, for whoever asks why
log = structlog.get_logger("c2s.doctor")


@dataclass(frozen=True)
class Finding:
    """Litter can be removed; a loss cannot be mended."""

    kind: str  # litter | loss
    what: str
    path: Path

    @property
    def bytes(self) -> int:
        files = [self.path] if self.path.is_file() else self.path.rglob("*")
        return sum(file.lstat().st_size for file in files if file.is_file())


def examine(
    database: Database, store: Store, *, young: float = YOUNG_SECONDS, deep: bool = False
) -> list[Finding]:
    """All that rows and bytes disagree about."""
    with database.read() as tx:
        datasets = {row.id: row for row in tx.scalars(select(Dataset))}
        jobs = {row.id: row for row in tx.execute(select(Job.id, Job.state, Job.task))}
        models = list(tx.scalars(select(Model)))
    published = {model.job_id: store.at(model.folder).parents[1] for model in models}
    return [
        *_strays(store, set(datasets), set(jobs), young),
        *(
            found
            for row in jobs.values()
            if row.state in ENDED
            for found in _spent(store, row, published, young)
        ),
        *_losses(store, list(datasets.values()), models, deep),
    ]


class Janitor(threading.Thread):
    """Removes litter every hour for as long as the service runs."""

    def __init__(self, database: Database, store: Store) -> None:
        super().__init__(name="janitor", daemon=True)
        self._database, self._store, self._stop_asked = database, store, threading.Event()

    def run(self) -> None:
        """Clean up until stopped; what fails is tried again in an hour."""
        while not self._stop_asked.wait(YOUNG_SECONDS):
            try:
                self.clean()
            except (
                Exception
            ) as exc:  # a database that is away, a folder that vanished: the next round may do better
                log.warning("cleaning_failed", error=type(exc).__name__)

    def clean(self) -> int:
        """Remove the litter there is now."""
        litter = [found for found in examine(self._database, self._store) if found.kind == "litter"]
        for finding in litter:
            remove(self._store, finding)
        log.info("cleaned", pieces=len(litter))
        return len(litter)

    def stop(self) -> None:
        """Clean no more."""
        self._stop_asked.set()


def remove(store: Store, finding: Finding) -> None:
    """Delete litter."""
    if finding.kind == "litter":
        store.discard(finding.path)


def _strays(store: Store, datasets: set[str], jobs: set[str], young: float) -> Iterator[Finding]:
    for path in _old(store.root / "tmp", young):
        yield Finding("litter", "an upload that never ended", path)
    for path in _old(store.root / "datasets", young):
        if path.name not in datasets:
            yield Finding("litter", "bytes of a dataset that has no row", path)
        else:
            yield from (
                Finding("litter", "a reading that never ended", part) for part in path.glob(".intake-*")
            )
    for path in _old(store.root / "jobs", young):
        if path.name not in jobs:
            yield Finding("litter", "bytes of a job that has no row", path)


def _spent(store: Store, job: Any, published: Mapping[str, Path], young: float) -> Iterator[Finding]:
    """What an ended job no longer needs: all but its model, and for a week what a failed training left."""
    kept = published.get(job.id)
    patience = KEPT_SECONDS if job.state == State.failed and job.task == "train" else young
    for path in _old(store.root / "jobs" / job.id, patience):
        if path != kept:
            yield Finding("litter", "an attempt that published nothing", path)


def _losses(store: Store, datasets: list[Dataset], models: list[Model], deep: bool) -> Iterator[Finding]:
    for dataset in datasets:
        folder = store.dataset(dataset.id)
        if dataset.state == Intake.ready and not (folder / "meta.json").is_file():
            yield Finding("loss", f"the bytes of dataset {dataset.id} are gone", folder)
    for model in models:
        weights = store.at(model.folder) / "weights.safetensors"
        if not weights.is_file():
            yield Finding("loss", f"the weights of model {model.id} are gone", weights)
        elif deep and folders.digest(weights) != model.sha256:
            yield Finding("loss", f"the weights of model {model.id} have changed", weights)


def _old(folder: Path, young: float) -> Iterator[Path]:
    limit = time.time() - young
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.lstat().st_mtime <= limit:
            yield path
