"""A file on its way to becoming a dataset: streamed in bounded memory, read here if small, by a worker if large."""

import os
import time
from dataclasses import dataclass
from typing import Any

import anyio.to_thread
from fastapi import Request
from sqlalchemy import Connection

from app.api import deps, posts
from app.core import audit, datasets, db, errors, ids, jobs, metrics, quotas, receipts, tracing
from app.core.db import Database
from app.core.incoming import Upload, Uploaded, full_disk
from app.core.settings import Settings
from app.core.storage import Store
from app.core.tables import Dataset, Intake
from app.intake import reading, refusal
from app.intake.options import Limits, Options
from c2s import data

PIECE = 2**20  # bytes gathered before they cost a hop to a thread
MEMORY_PER_BYTE = 6  # what a reader needs beside its own memory, as a multiple of the file


@dataclass(frozen=True)
class Wanted:
    """What the upload is to become."""

    name: str
    options: Options
    key: str | None


async def receive(request: Request, upload: Upload) -> Uploaded:
    """Take the body in; whoever sends it may be slow, and may leave."""
    piece = bytearray()
    async for chunk in request.stream():
        piece += chunk
        if len(piece) >= PIECE:
            await anyio.to_thread.run_sync(upload.write, bytes(piece))
            piece.clear()
    if piece:
        await anyio.to_thread.run_sync(upload.write, bytes(piece))
    metrics.uploaded(upload.bytes)
    return await anyio.to_thread.run_sync(upload.finish)


@dataclass(frozen=True)
class Register:
    """Makes a dataset of a file that has arrived; what fails leaves neither row nor bytes."""

    settings: Settings
    database: Database
    store: Store

    def __call__(self, wanted: Wanted, uploaded: Uploaded) -> posts.Made:
        """Read it, or have it read; the same file with the same key was read before."""
        about = wanted.options.model_dump_json()
        request = receipts.digest("POST /datasets", wanted.name, about, uploaded.sha256)
        if (before := posts.replayed(self.database, wanted.key, request)) is not None:
            return before
        dataset = Dataset(
            id=ids.new("ds"),
            project_id=deps.project_of(self.database),
            name=wanted.name,
            state=Intake.validating,
            options=wanted.options.model_dump(mode="json"),
            bytes=uploaded.bytes,
            source_sha256=uploaded.sha256,
        )
        manifest = {
            "origin": tracing.origin()
        }  # here: the writing may be done in the thread of another request
        try:
            take = self._read if uploaded.bytes <= self.settings.inline_bytes else self._keep
            take(dataset, wanted.options, uploaded)
            made = posts.once(self.database, wanted.key, request, lambda tx: self._add(tx, dataset, manifest))
        except BaseException:
            self.store.remove_dataset(dataset.id)
            raise
        if made.again:  # the same upload came twice at once, and the other one won
            self.store.remove_dataset(dataset.id)
        return made

    def _read(self, dataset: Dataset, options: Options, uploaded: Uploaded) -> None:
        target, began = self.store.dataset(dataset.id), time.monotonic()
        try:
            with full_disk():
                report = reading.read(uploaded.path, target, options, limits(self.settings, uploaded.bytes))
        except refusal.Refused as exc:
            reasons = [dict(reason) for reason in exc.reasons]
            raise errors.Invalid(
                f"the file cannot be used: {exc.reasons[0]['detail']}", code="invalid_dataset", errors=reasons
            ) from exc
        finally:
            metrics.read(time.monotonic() - began)
        shape = data.load(target).shape.plain()
        self.store.keep_dataset(dataset.id)
        for column, value in datasets.facts(report.model_dump(mode="json"), shape).items():
            setattr(dataset, column, value)

    def _keep(self, dataset: Dataset, _options: Options, uploaded: Uploaded) -> None:
        """Put the file where a worker will find it."""
        self.store.keep_source(dataset.id, uploaded)

    def _add(self, tx: Connection, dataset: Dataset, manifest: dict[str, Any]) -> posts.Made:
        caller = self.database.caller
        quotas.take_bytes(tx, caller, dataset.bytes)
        with db.mapped(tx, caller) as session:
            session.add(dataset)
        audit.note(tx, caller, "dataset.create", dataset.id, bytes=dataset.bytes)
        if dataset.state == Intake.ready:
            return posts.Made(dataset.id, 201)
        most = self.settings.max_queue
        jobs.create(tx, dataset, task="ingest", config={}, manifest=manifest, max_queue=most)
        return posts.Made(dataset.id, 202)


def limits(settings: Settings, size: int) -> Limits:
    """What reading a file of this size may cost."""
    most = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * 3 // 4
    memory = min(settings.intake_memory_bytes + MEMORY_PER_BYTE * size, most)
    return Limits(memory_bytes=memory, seconds=settings.intake_seconds)
