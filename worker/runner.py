"""One job from claim to finish: the only file that joins rows to the work they ask for."""

import contextlib
import functools
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, assert_never

import structlog
from sqlalchemy.orm import Session

from app.core import claims, db, errors, jobs, metrics, settings, storage, tracing
from app.core.tables import Job, State
from c2s.errors import C2SError
from worker import batch, diary, failures, holding, ingest, messages, process, publishing, saving, supervisor

log = structlog.get_logger("c2s.worker")


@dataclass(frozen=True)
class Site:
    """What a worker process works with."""

    settings: settings.Settings
    database: db.Database
    store: storage.Store


def run(site: Site, claim: claims.Claim, *, since: float) -> None:
    """Do the job; whatever happens, its row learns of it, unless the claim is lost."""
    hold = holding.Hold(site.database, claim, lease=site.settings.lease_seconds, since=since)
    origin = claim.manifest.get("origin") or {}
    ids = {"job_id": claim.job_id, "attempt": claim.fence, "request_id": origin.get("request_id")}
    with structlog.contextvars.bound_contextvars(**ids), _traced(claim, origin, since=since):
        log.info("claimed", task=claim.task)
        began = time.monotonic()
        try:
            _work(site, hold)
        except claims.Lost as exc:
            _lost(exc)
        except (
            Exception
        ) as exc:  # a fault of ours, or of the disk, or what the job needs is gone: it must not hang
            _give_up(site, hold, exc)
        took = time.monotonic() - began
        if claim.task != "predict":
            (metrics.trained if claim.task == "train" else metrics.read)(took)
        log.info("let_go", seconds=round(took, 3))


@contextlib.contextmanager
def _traced(claim: claims.Claim, origin: dict[str, Any], *, since: float) -> Iterator[None]:
    """Put the attempt below the request that asked for it, beside the time that the job waited."""
    if tracing.tracer is None:
        yield
        return
    parent, claimed = origin.get(tracing.PARENT), time.time() - (time.monotonic() - since)
    if claim.fence == 1 and "at" in origin:
        tracing.past("queue", parent, began=origin["at"])
    with tracing.span("attempt", parent, began=claimed, job_id=claim.job_id, attempt=claim.fence):
        tracing.past("claim", began=claimed)
        yield
    tracing.close()  # a pool process may end without a word


def _lost(exc: claims.Lost) -> None:
    metrics.lease_lost()
    log.warning("claim_lost", reason=str(exc))


def _give_up(site: Site, hold: holding.Hold, exc: Exception) -> None:
    code, message = failures.explain(exc)
    if isinstance(exc, saving.StoreAway):
        log.warning("store_away", message=str(exc))
    elif failures.foreseen(exc):
        log.warning("refused", code=code, message=message)
    else:
        log.error("supervisor_failed", code=code, exc_info=exc)
    why = jobs.error(code, message, phase="loading")
    again, limit = (
        not isinstance(exc, errors.StoreFull | errors.TooMany | C2SError),
        site.settings.crash_limit,
    )
    try:
        if isinstance(exc, saving.StoreAway):
            hold.settle(lambda tx: claims.release(tx, hold.claim, reason=message))
        else:
            hold.settle(lambda tx: _break(tx, hold.claim, why, again=again, limit=limit))
    except claims.Lost as lost:
        _lost(lost)


def _work(site: Site, hold: holding.Hold) -> None:
    claim, store = hold.claim, site.store
    begin = {"train": _train, "ingest": _ingest, "predict": _predict}[claim.task]
    child = begin(site, hold)
    save = functools.partial(store.save, claim.job_id, claim.fence) if store.remote else None
    watch = supervisor.Supervisor(child, hold, _limits(site, claim), saving.Saver(save))
    ending = watch.watch()
    told = {"code": ending.code} if isinstance(ending, messages.Failed | supervisor.Broken) else {}
    log.info("ended", ending=type(ending).__name__, phase=watch.phase, **told)
    _finish(site, hold, ending, phase=watch.phase, log_lines=child.last_words())


def _limits(site: Site, claim: claims.Claim) -> supervisor.Limits:
    told = site.settings
    if claim.task == "ingest":  # its own limit is the reader's; this one only catches a reader that hangs
        return supervisor.Limits(told.grace_seconds, told.intake_seconds + 60, told.intake_seconds + 60)
    stall = told.stall_seconds + (
        told.intake_seconds if claim.task == "predict" else 0
    )  # it may read a file first
    return supervisor.Limits(told.grace_seconds, stall, told.job_seconds)


def _train(site: Site, hold: holding.Hold) -> process.Child:
    claim, store = hold.claim, site.store
    folder = store.attempt(claim.job_id, claim.fence)
    dataset = saving.fetched(store, hold, lambda: store.open_dataset(claim.dataset_id or ""))
    run = saving.fetched(store, hold, lambda: store.resume(claim.job_id, claim.fence))
    threads = int(claim.manifest.get("threads", site.settings.threads))
    asked = {
        "config": claim.config,
        "dataset": str(dataset),
        "run": str(run),
        "threads": threads,
        "device": claim.manifest.get("device", site.settings.device),
        "sha256": claim.manifest.get("dataset", {}).get("sha256"),
        "shrink": claim.shrink,
        "diary": diary.told(site.settings),
    }
    return process.Child("worker.trainer", asked, log_file=folder / "log.txt", threads=threads)


def _ingest(site: Site, hold: holding.Hold) -> process.Child:
    claim = hold.claim
    asked = ingest.request(site.database, site.store, hold) | {
        "memory_bytes": site.settings.intake_memory_bytes,
        "seconds": site.settings.intake_seconds,
        "diary": diary.told(site.settings),
    }
    log_file = site.store.attempt(claim.job_id, claim.fence) / "log.txt"
    return process.Child("worker.reader", asked, log_file=log_file, threads=1)


def _predict(site: Site, hold: holding.Hold) -> process.Child:
    claim = hold.claim
    asked = batch.request(site.database, site.store, hold, site.settings)
    asked["diary"] = diary.told(site.settings)
    log_file = site.store.attempt(claim.job_id, claim.fence) / "log.txt"
    return process.Child("worker.predictor", asked, log_file=log_file, threads=asked["threads"])


def _finish(
    site: Site, hold: holding.Hold, ending: supervisor.Ending, *, phase: str | None, log_lines: list[str]
) -> None:
    """Write what the end of the child means for the job."""
    claim, store = hold.claim, site.store
    match ending:
        case messages.Trained():
            publishing.publish(store, hold, crash_limit=site.settings.crash_limit)
        case messages.Read() | messages.Refused():
            ingest.settle(store, hold, ending)
        case messages.Predicted():
            batch.publish(store, hold, ending, crash_limit=site.settings.crash_limit)
        case messages.Stopped() | supervisor.Cut(reason="drain"):
            hold.settle(lambda tx: claims.release(tx, claim))
        case supervisor.Cut():
            hold.settle(lambda tx: claims.cancel(tx, claim))
        case messages.Failed():
            why = jobs.error(ending.code, ending.message, phase=ending.phase, log=log_lines)
            limit = site.settings.crash_limit
            hold.settle(lambda tx: _fail(tx, claim, why, again=ending.again, limit=limit))
        case supervisor.Broken():
            why = jobs.error(ending.code, ending.message, phase=phase, log=log_lines)
            limit = site.settings.crash_limit
            hold.settle(lambda tx: _fail(tx, claim, why, again=ending.again, limit=limit))
        case _:
            assert_never(ending)
    _tidy(site, claim)


def _tidy(site: Site, claim: claims.Claim) -> None:
    """Of a job that failed keep the last attempt alone; of one that was cancelled, or a file never read, nothing.

    A file of rows to predict is kept for a retry.
    """
    with site.database.read() as tx:
        job = tx.get(Job, claim.job_id)
    if job is None or job.fence != claim.fence:
        return
    if job.state == State.cancelled:  # by a cut, or by a drain that met the wish to cancel
        if claim.config.get("source") == claim.job_id:
            site.store.forget_attempts(claim.job_id, keep=0)
        else:
            site.store.remove_job(claim.job_id)
    if job.state != State.failed:
        return
    site.store.forget_attempts(claim.job_id, keep=claim.fence)
    if claim.task == "ingest":
        site.store.remove_dataset(claim.dataset_id or "")


def _fail(tx: Session, claim: claims.Claim, why: dict[str, Any], *, again: bool, limit: int) -> None:
    if why["code"] == "out_of_memory" and claim.task == "train":
        claims.starve(tx, claim, why)
    else:
        _break(tx, claim, why, again=again, limit=limit)


def _break(tx: Session, claim: claims.Claim, why: dict[str, Any], *, again: bool, limit: int) -> None:
    if again:
        claims.crash(tx, claim, why, crash_limit=limit)
    else:
        claims.fail(tx, claim, why)
