"""A dataset on its way out of another: which labels change is settled here, the folder made here or by a worker."""

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import Connection

from app.api import deps, issues, posts
from app.core import audit, damage, datasets, db, decisions, errors, ids, jobs, quotas, tracing
from app.core.db import Database
from app.core.incoming import Uploaded, full_disk
from app.core.settings import Settings
from app.core.storage import Store
from app.core.tables import Dataset, Intake, Job
from app.intake import correcting
from c2s import data
from c2s.errors import InvalidDataset
from c2s.judging import merging, reviews
from c2s.judging.corrections import Changes

NEVER = 2.0  # a probability that no label has
LONGEST_NAME = 200


@dataclass(frozen=True)
class Wanted:
    """What is asked for."""

    name: str | None
    correct_at: float | None
    gold: bool
    key: str | None
    request: str


@dataclass(frozen=True)
class Birth:
    """Makes a dataset of a job's rows and decisions; what fails leaves neither row nor bytes."""

    settings: Settings
    database: Database
    store: Store

    def __call__(self, job_id: str, judged: Path, wanted: Wanted) -> posts.Made:
        """Make it, or have it made; the parent may be deleted as soon as it is there."""
        with self.database.read() as tx:
            job, decided = jobs.find(tx, job_id, "train"), decisions.of(tx, job_id)
            parent = tx.get(Dataset, job.dataset_id) if job.dataset_id else None
        if parent is None:
            raise errors.Conflict(f"the dataset of job {job_id} was deleted", code="dataset_deleted")
        changes = found(job, parent, judged, decided, wanted)
        child = self._row(job, parent, wanted)
        manifest = {"origin": tracing.origin()}  # here: another request's thread may do the writing
        try:
            with self.store.upload(limit=self.settings.max_upload_bytes) as upload:
                file = io.BytesIO()
                changes.save(file)
                upload.write(file.getvalue())
                uploaded = upload.finish()
                child.source_sha256 = uploaded.sha256
                self._make(child, parent, uploaded)
            made = posts.once(
                self.database, wanted.key, wanted.request, lambda tx: self._add(tx, child, manifest)
            )
        except BaseException:
            self.store.remove_dataset(child.id)
            raise
        if made.again:  # the same request came twice at once, and the other one won
            self.store.remove_dataset(child.id)
        return made

    def _row(self, job: Job, parent: Dataset, wanted: Wanted) -> Dataset:
        return Dataset(
            id=ids.new("ds"),
            project_id=deps.project_of(self.database),
            name=wanted.name or f"{parent.name} (corrected)"[:LONGEST_NAME],
            state=Intake.validating,
            options=parent.options,
            bytes=parent.bytes,  # a bucket holds the rows once more
            source_sha256="",
            parent_id=parent.id,
            job_id=job.id,
        )

    def _make(self, child: Dataset, parent: Dataset, uploaded: Uploaded) -> None:
        if parent.bytes > self.settings.inline_bytes:
            self.store.keep_source(child.id, uploaded)
            return
        target = self.store.dataset(child.id)
        with full_disk(), damage.told("the dataset of the job", ValueError, InvalidDataset):
            folder = self.store.open_dataset(parent.id)
            report = correcting.correct(folder, uploaded.path, target, parent.report or {})
        self.store.keep_dataset(child.id)
        for column, value in datasets.facts(report, data.load(target).shape.plain()).items():
            setattr(child, column, value)

    def _add(self, tx: Connection, child: Dataset, manifest: dict[str, Any]) -> posts.Made:
        caller = self.database.caller
        datasets.hold(tx, child.parent_id or "")
        quotas.take_bytes(tx, caller, child.bytes)
        with db.mapped(tx, caller) as session:
            session.add(child)
        about = {"bytes": child.bytes, "parent_id": child.parent_id, "job_id": child.job_id}
        audit.note(tx, caller, "dataset.create", child.id, **about)
        if child.state == Intake.ready:
            return posts.Made(child.id, 201)
        most = self.settings.max_queue
        jobs.create(tx, child, task="ingest", config={}, manifest=manifest, max_queue=most)
        return posts.Made(child.id, 202)


def found(job: Job, parent: Dataset, judged: Path, decided: reviews.Decided, wanted: Wanted) -> Changes:
    """Which labels become others; classes that the job merged are one, and those without a row are left out."""
    classes = parent.classes or []
    places = merging.places_of(classes, job.config.get("merge") or ())
    left = sorted(set(places))  # of the parent, in the order of the job's classes
    rows, labels, reviewed, changed = [], [], [], 0
    counts = np.zeros(len(left), dtype=np.int64)
    threshold = NEVER if wanted.correct_at is None else wanted.correct_at
    with issues.judged(judged) as every:
        for part in every.verdicts(decided, correct_at=threshold, ids=False):
            touched = np.flatnonzero(part.by_people | (part.label != part.given))
            changed += int((part.label != part.given).sum())
            rows.append(touched + part.start)
            labels.append(part.label[touched])
            reviewed.append(part.by_people[touched])
            counts += np.bincount(part.label, minlength=len(left))
    if not changed and not len(decided.rows):
        raise errors.Conflict("no label would change: decide on rows first, or send correct_at")
    if (counts > 0).sum() < 2:
        raise errors.Conflict("all rows would have one label: a dataset needs two classes")
    number = np.where(counts > 0, np.cumsum(counts > 0) - 1, -1)  # of the job's classes
    return Changes(
        rows=np.concatenate(rows),
        labels=number[np.concatenate(labels)],
        reviewed=np.concatenate(reviewed),
        become=number[[left.index(place) for place in places]],
        kept=np.array(left)[counts > 0],
        gold=wanted.gold,
    )
