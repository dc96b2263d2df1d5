"""The doorbell: whoever hears it claims the best row, works on it, and looks for the next."""

import functools
import time
from typing import Final

import structlog
from sqlalchemy.exc import DBAPIError

from app.core import claims, db, relay, settings, stores, tracing
from app.core.tables import Task
from worker import drain, owners, runner, slots
from worker.celery_app import app

ROUNDS = 10  # jobs for one hint; the next hint comes within a second
ALL: Final[tuple[Task, ...]] = ("train", "ingest", "predict")
SHORT: Final[tuple[Task, ...]] = ("ingest", "predict")  # never wait behind a training
log = structlog.get_logger("c2s.worker")


@functools.cache
def site() -> runner.Site:
    """What this process works with; made after the fork, as connections do not survive one."""
    chosen = settings.load()
    tracing.configure("c2s-worker")
    return runner.Site(chosen, db.Database(chosen.database), stores.open_store(chosen))


@app.task(name=relay.TASK)
def work() -> None:
    """Work while there is a row to work on."""
    with drain.heeding():
        for _ in range(ROUNDS):
            if drain.wanted() or not turn(site()):
                return


def turn(place: runner.Site) -> bool:
    """Claim a job and do it; False: there was none for us."""
    with slots.slot(place.settings.slots) as free:
        since = time.monotonic()
        try:
            claim = _claim(place, ALL if free else SHORT)
        except DBAPIError as exc:
            if not db.unavailable(exc):
                raise
            log.warning("database_away", error=type(exc).__name__)
            return False
        if claim is None:
            return False
        if claim.task == "train":
            runner.run(place, claim, since=since)
            return True
    runner.run(place, claim, since=since)  # reading and predicting need no slot
    return True


def _claim(place: runner.Site, tasks: tuple[Task, ...]) -> claims.Claim | None:
    with place.database.read() as tx:  # most hints find nothing: that should not take the write lock
        if claims.waiting(tx) == 0:
            return None
    with place.database.begin() as tx:
        return claims.claim(
            tx,
            owner=owners.me(),
            tasks=tasks,
            lease=place.settings.lease_seconds,
            crash_limit=place.settings.crash_limit,
            **place.database.skip_locked(),
        )
