"""The relay of a worker: a thread in the parent, which looks for waiting rows and rings its own bell."""

import contextlib
import importlib.metadata
import os
import signal
import threading
import time
from typing import Any

import structlog
from celery import signals
from celery.worker import state
from sqlalchemy.exc import SQLAlchemyError

from app.core import claims, db, ids, relay, settings, workers
from worker import drain, hearing, owners

LOOK_SECONDS = 0.1
_relay: relay.Relay | None = None
log = structlog.get_logger("c2s.worker")


class Bell(relay.Relay):
    """A relay that holds no connection while the process forks.

    A child that inherits an open SQLite file believes that it holds locks which it does not.
    """

    def __init__(self, chosen: settings.Settings, pool: Any = None) -> None:
        # with a real broker each process has a pipe of its own, and takes no other down
        self._alone = chosen.embedded
        self._hearing = hearing.Hearing()
        self._grace = chosen.grace_seconds
        self._connections = db.Database(chosen.database)
        self._looking = threading.Lock()
        self._pulse = chosen.pulse
        self._workers = pool
        self._id, self._due = ids.new("wrk"), 0.0
        self._told: workers.Facts = {
            "processes": [],
            "device": chosen.device,
            "slots": chosen.slots,
            "version": importlib.metadata.version("c2s"),
        }
        super().__init__(
            self._connections,
            relay.ringer(chosen.broker_url),
            seconds=chosen.relay_seconds,
            most=chosen.slots + 1,
        )
        os.register_at_fork(
            before=self._hush, after_in_parent=self._looking.release, after_in_child=self._looking.release
        )

    def run(self) -> None:
        """Look and ring until stopped, and once more: the consumer notices an end when it hears something."""
        super().run()
        with contextlib.suppress(Exception):  # a broker that is away does not keep us
            self._ring()
        with contextlib.suppress(SQLAlchemyError), self._looking, self._connections.begin() as tx:
            workers.leave(tx, self._id)

    def look(self) -> int:
        """Bury the dead, then ring once for each job that waits."""
        if self._alone:
            self._mind()
        with self._looking:
            self._bury()
            rung = super().look()
        if self._pulse is not None:
            self._pulse.touch(mode=0o600)
        if time.monotonic() >= self._due:
            self._beat()
        return rung

    def _beat(self) -> None:
        """Tell that this worker is there, and at first of those of this machine that are not any more."""
        first, self._due = self._due == 0.0, time.monotonic() + workers.BEAT_SECONDS
        facts: workers.Facts = {**self._told, "processes": self._processes()}
        try:
            with self._looking, self._connections.begin() as tx:
                if first:
                    workers.bury(tx, owners.dead)
                workers.beat(tx, self._id, owners.me(), facts)
        except SQLAlchemyError as exc:  # nothing hangs on it: jobs are looked for all the same
            log.info("beat_failed", error=type(exc).__name__)

    def _processes(self) -> list[int]:
        """Who works here; one that is about to start has no number yet."""
        pool = self._workers._pool._pool if self._workers is not None else ()
        return [process.pid for process in tuple(pool) if process.pid is not None]

    def _bury(self) -> None:
        """Free the jobs of processes that died on this machine: nobody has to wait for their leases."""
        with self._connections.read() as tx:
            orphans = claims.orphans(tx, owners.dead)
        for job_id, fence in orphans:
            log.warning("owner_died", job_id=job_id, attempt=fence)
            with self._connections.begin() as tx:
                claims.bury(tx, job_id, fence)

    def _mind(self) -> None:
        """End a worker whose pool does not hear any more; whoever started it starts it again."""
        busy = {request.id for request in state.active_requests}
        unheard = {request.id for request in state.reserved_requests} - busy
        free = len(busy) < len(self._processes())
        if not self._hearing.lost(unheard, free=free, now=time.monotonic()) or drain.wanted():
            return
        log.error("pool_broken", unheard=len(unheard))
        drain.begin()
        deadline = time.monotonic() + self._grace
        while state.active_requests and time.monotonic() < deadline:
            time.sleep(LOOK_SECONDS)
        for pid in (*self._processes(), os.getpid()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _hush(self) -> None:
        self._looking.acquire()
        self._connections.close()


@signals.worker_ready.connect
def _start(sender: Any = None, **_: object) -> None:
    global _relay
    _relay = Bell(settings.load(), getattr(sender, "pool", None))
    _relay.start()


@signals.worker_shutting_down.connect
def _stop(**_: object) -> None:
    drain.begin()
    if _relay is not None:
        _relay.stop()
