"""Predictions for many rows as a job: what the predictor is asked, and what its answer means for the job."""

from typing import Any

import structlog
from sqlalchemy.orm import Session

from app.core import claims, db, errors, jobs, quotas, settings, storage
from app.core.tables import Job, Model
from c2s import folders
from c2s.errors import InvalidDataset, InvalidModel
from worker import holding, messages, saving

MOST_ROWS = 10**9  # where no quota says less
log = structlog.get_logger("c2s.worker")


def request(
    database: db.Database, store: storage.Store, hold: holding.Hold, told: settings.Settings
) -> dict[str, Any]:
    """What the predictor must know."""
    claim, asked = hold.claim, hold.claim.config
    with database.read() as tx:
        model = tx.get(Model, asked["model_id"])
        most = _left(tx, claim)
    if model is None:
        raise InvalidModel(f"model {asked['model_id']} was deleted")
    folder = model.folder
    run = saving.fetched(store, hold, lambda: store.resume(claim.job_id, claim.fence))
    dataset, source = claim.dataset_id, None
    if asked["source"] is None and dataset is None:
        raise InvalidDataset("the dataset of the job was deleted")
    if asked["source"] is not None and not (run / "rows").is_dir():
        sha256 = claim.manifest["source"]["sha256"]
        source = saving.fetched(store, hold, lambda: store.open_source(asked["source"], sha256=sha256))
        if not source.is_file():
            raise errors.Damaged("the file of the job is gone from the store")
    rows = saving.fetched(store, hold, lambda: store.open_dataset(dataset)) if dataset else None
    return {
        "model": str(saving.fetched(store, hold, lambda: store.open_model(folder))),
        "run": str(run),
        "dataset": str(rows) if rows else None,
        "source": str(source) if source else None,
        "format": asked["format"],
        "outputs": asked["outputs"],
        "top_k": asked["top_k"],
        "most_rows": MOST_ROWS if most is None else most,
        "over": None if most is None else str(_over(claim)),
        "threads": int(claim.manifest.get("threads", told.threads)),
        "memory_bytes": told.intake_memory_bytes,
        "seconds": told.intake_seconds,
    }


def _over(claim: claims.Claim) -> quotas.Exceeded:
    return quotas.exceeded("predictions_per_day", claim.config["predictions_per_day"])


def _left(tx: Session, claim: claims.Claim) -> int | None:
    """The rows that a file may have as the attempt starts; None: no quota, or rows of a dataset, counted already."""
    job, limit = tx.get(Job, claim.job_id), claim.config.get("predictions_per_day")
    if job is None or limit is None or claim.config["source"] is None:
        return None
    return min(MOST_ROWS, quotas.left(tx, job.project_id, limit))


def publish(store: storage.Store, hold: holding.Hold, done: messages.Predicted, *, crash_limit: int) -> None:
    """Verify the file, publish it in one write, and clear away what led to it."""
    try:
        _publish(store, hold, done, crash_limit=crash_limit)
    except quotas.Exceeded as exc:  # others were faster; the file stays for a retry
        why = jobs.error("quota_exceeded", str(exc), phase="packaging")
        hold.settle(lambda tx: claims.fail(tx, hold.claim, why))


def _publish(store: storage.Store, hold: holding.Hold, done: messages.Predicted, *, crash_limit: int) -> None:
    claim = hold.claim
    path = store.attempt(claim.job_id, claim.fence) / "run" / "result" / storage.PREDICTIONS
    if saving.meanwhile(hold, lambda: folders.digest(path)) != done.sha256:
        why = jobs.error("internal", "the predictions were harmed on their way", phase="packaging")
        hold.settle(lambda tx: claims.crash(tx, claim, why, crash_limit=crash_limit))
        return
    key = saving.meanwhile(hold, lambda: store.keep_outcome(claim.job_id, claim.fence, "result"))
    source = claim.config["source"]

    def write(tx: Session) -> None:
        job = tx.get(Job, claim.job_id)
        if source is not None and job is not None:  # rows of a dataset were counted when the job was made
            quotas.take_rows(tx, job.project_id, done.rows, claim.config.get("predictions_per_day"))
        claims.succeed(tx, claim, done.model_dump(exclude={"type"}) | {"folder": key})

    hold.settle(write)
    log.info("predicted", rows=done.rows, errors=done.errors, memory_bytes=done.memory_bytes)
    store.prune_job(claim.job_id, keep=claim.fence)
    if source is not None:
        store.discard(store.key(store.source(source).parent))
