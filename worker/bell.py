"""The relay of a worker: a thread in the parent, which looks for waiting rows and rings its own bell."""

import contextlib
import os
import threading

from celery import signals

from app.core import db, relay, settings
from worker import drain

_relay: relay.Relay | None = None


class Bell(relay.Relay):
    """A relay that holds no connection while the process forks.

    A child that inherits an open SQLite file believes that it holds locks which it does not.
    """

    def __init__(self, chosen: settings.Settings) -> None:
        self._connections = db.Database(chosen.database)
        self._looking = threading.Lock()
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

    def look(self) -> int:
        """Ring once for each job that waits."""
        with self._looking:
            return super().look()

    def _hush(self) -> None:
        self._looking.acquire()
        self._connections.close()


@signals.worker_ready.connect
def _start(**_: object) -> None:
    global _relay
    _relay = Bell(settings.load())
    _relay.start()


@signals.worker_shutting_down.connect
def _stop(**_: object) -> None:
    drain.begin()
    if _relay is not None:
        _relay.stop()
