"""Compares rows with bytes: what no row names is litter, what no byte backs is a loss."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import select

from app.core.db import Database
from app.core.storage import Store
from app.core.tables import ENDED, Dataset, Intake, Job, Model
from c2s import folders

YOUNG_SECONDS = 3600.0  # what may still be in the making is left alone


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
        states = {row.id: row.state for row in tx.execute(select(Job.id, Job.state))}
        models = list(tx.scalars(select(Model)))
    return [
        *_litter(store, set(datasets), set(states), young),
        *_spent(store, {id_ for id_, state in states.items() if state in ENDED}, models, young),
        *_losses(store, list(datasets.values()), models, deep),
    ]


def remove(store: Store, finding: Finding) -> None:
    """Delete litter."""
    if finding.kind == "litter":
        store.discard(finding.path)


def _litter(store: Store, datasets: set[str], jobs: set[str], young: float) -> Iterator[Finding]:
    for path in _old(store.root / "tmp", young):
        yield Finding("litter", "an upload that never ended", path)
    for path in _old(store.root / "datasets", young):
        if path.name not in datasets:
            yield Finding("litter", "bytes of a dataset that has no row", path)
    for path in _old(store.root / "jobs", young):
        if path.name not in jobs:
            yield Finding("litter", "bytes of a job that has no row", path)


def _spent(store: Store, ended: set[str], models: list[Model], young: float) -> Iterator[Finding]:
    """Attempts of ended jobs that published nothing, of jobs that published something."""
    published = {model.job_id: store.at(model.folder).parents[1] for model in models}
    for job_id in ended & published.keys():
        for path in _old(store.root / "jobs" / job_id, young):
            if path != published[job_id]:
                yield Finding("litter", "an attempt that another one overtook", path)


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
