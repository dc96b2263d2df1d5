"""One job from claim to finish: the only file that joins rows to the work they ask for."""

import time
from dataclasses import dataclass
from typing import Any, assert_never

import structlog
from sqlalchemy.orm import Session

from app.core import claims, db, errors, jobs, settings, storage
from app.core.tables import Job, State
from worker import failures, holding, ingest, messages, process, publishing, supervisor

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
    with structlog.contextvars.bound_contextvars(job_id=claim.job_id, attempt=claim.fence):
        log.info("claimed", task=claim.task)
        began = time.monotonic()
        try:
            _work(site, hold)
        except claims.Lost as exc:
            log.warning("claim_lost", reason=str(exc))
        except Exception as exc:  # a fault of ours, or of the disk: the job must not hang on it
            log.exception("supervisor_failed")
            _give_up(site, hold, exc)
        log.info("let_go", seconds=round(time.monotonic() - began, 3))


def _give_up(site: Site, hold: holding.Hold, exc: Exception) -> None:
    code, message = failures.explain(exc)
    why = jobs.error(code, message, phase="loading")
    again, limit = not isinstance(exc, errors.StoreFull), site.settings.crash_limit
    try:
        hold.settle(lambda tx: _break(tx, hold.claim, why, again=again, limit=limit))
    except claims.Lost as lost:
        log.warning("claim_lost", reason=str(lost))


def _work(site: Site, hold: holding.Hold) -> None:
    child = _train(site, hold.claim) if hold.claim.task == "train" else _ingest(site, hold.claim)
    watch = supervisor.Supervisor(child, hold, _limits(site, hold.claim))
    ending = watch.watch()
    log.info("ended", ending=type(ending).__name__, phase=watch.phase)
    _finish(site, hold, ending, phase=watch.phase, log_lines=child.last_words())


def _limits(site: Site, claim: claims.Claim) -> supervisor.Limits:
    told = site.settings
    if claim.task == "ingest":  # its own limit is the reader's; this one only catches a reader that hangs
        return supervisor.Limits(told.grace_seconds, told.intake_seconds + 60, told.intake_seconds + 60)
    return supervisor.Limits(told.grace_seconds, told.stall_seconds, told.job_seconds)


def _train(site: Site, claim: claims.Claim) -> process.Child:
    folder = site.store.attempt(claim.job_id, claim.fence)
    threads = int(claim.manifest.get("threads", site.settings.threads))
    asked = {
        "config": claim.config,
        "dataset": str(site.store.dataset(claim.dataset_id or "")),
        "run": str(site.store.resume(claim.job_id, claim.fence)),
        "threads": threads,
        "device": claim.manifest.get("device", site.settings.device),
        "sha256": claim.manifest.get("dataset", {}).get("sha256"),
        "shrink": claim.shrink,
    }
    return process.Child("worker.trainer", asked, log_file=folder / "log.txt", threads=threads)


def _ingest(site: Site, claim: claims.Claim) -> process.Child:
    asked = ingest.request(site.database, site.store, claim) | {
        "memory_bytes": site.settings.intake_memory_bytes,
        "seconds": site.settings.intake_seconds,
    }
    log_file = site.store.attempt(claim.job_id, claim.fence) / "log.txt"
    return process.Child("worker.reader", asked, log_file=log_file, threads=1)


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
        case messages.Stopped() | supervisor.Cut(reason="drain"):
            hold.settle(lambda tx: claims.release(tx, claim))
        case supervisor.Cut():
            hold.settle(lambda tx: claims.cancel(tx, claim))
            store.remove_job(claim.job_id)
        case messages.Failed():
            why = jobs.error(ending.code, ending.message, phase=ending.phase, log=log_lines)
            hold.settle(lambda tx: _fail(tx, claim, why))
        case supervisor.Broken():
            why = jobs.error(ending.code, ending.message, phase=phase, log=log_lines)
            hold.settle(
                lambda tx: _break(tx, claim, why, again=ending.again, limit=site.settings.crash_limit)
            )
        case _:
            assert_never(ending)
    _tidy(site, claim)


def _tidy(site: Site, claim: claims.Claim) -> None:
    """Of a job that failed keep the last attempt alone, and of a file that nobody will read nothing."""
    with site.database.read() as tx:
        job = tx.get(Job, claim.job_id)
    if job is None or job.state != State.failed or job.fence != claim.fence:
        return
    for fence in site.store.attempts(claim.job_id):
        if fence != claim.fence:
            site.store.discard(site.store.attempt(claim.job_id, fence))
    if claim.task == "ingest":
        site.store.remove_dataset(claim.dataset_id or "")


def _fail(tx: Session, claim: claims.Claim, why: dict[str, Any]) -> None:
    if why["code"] == "out_of_memory" and claim.task == "train":
        claims.starve(tx, claim, why)
    else:
        claims.fail(tx, claim, why)


def _break(tx: Session, claim: claims.Claim, why: dict[str, Any], *, again: bool, limit: int) -> None:
    if again:
        claims.crash(tx, claim, why, crash_limit=limit)
    else:
        claims.fail(tx, claim, why)
