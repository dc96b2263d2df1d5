"""Rings the queue while jobs wait. The message carries nothing: whoever hears it claims the best row in SQL.

A lost, doubled or late message is harmless; a broker that is away delays jobs and loses none. Rows are the only truth,
so every API and worker process may run a relay, and none has to.
"""

import threading
from collections.abc import Callable

import structlog
from sqlalchemy.exc import SQLAlchemyError

from app.core import claims
from app.core.db import Database

TASK = "c2s.work"
HINT_SECONDS = 15  # a hint older than this is dropped: the next look sends another
BROKER_OPTIONS = {
    "socket_timeout": 2,  # a frozen broker blocks a publisher without limit otherwise
    "socket_connect_timeout": 2,
    "socket_keepalive": True,
    "health_check_interval": 25,
}
log = structlog.get_logger("c2s.relay")


class Relay(threading.Thread):
    """Looks every `seconds` and rings at most `most` times a look."""

    def __init__(self, database: Database, ring: Callable[[], None], *, seconds: float, most: int) -> None:
        super().__init__(name="relay", daemon=True)
        self._database, self._ring, self._seconds, self._most = database, ring, seconds, most
        self._stopped = threading.Event()  # `_stop` is the thread's own

    def run(self) -> None:
        """Look and ring until stopped; what fails is tried again at the next look."""
        broken = False
        while not self._stopped.wait(self._seconds):
            try:
                self.look()
                broken = False
            except Exception as exc:  # the relay outlives whatever the broker's client raises
                if not broken:  # once per outage: a log line a second helps nobody
                    log.warning(
                        "relay_failed", error=type(exc).__name__, database=isinstance(exc, SQLAlchemyError)
                    )
                broken = True

    def look(self) -> int:
        """Ring once for each job that waits."""
        with self._database.read() as tx:
            count = min(claims.waiting(tx), self._most)
        for _ in range(count):
            self._ring()
        return count

    def stop(self) -> None:
        """Stop looking."""
        self._stopped.set()


def ringer(broker_url: str) -> Callable[[], None]:
    """A doorbell on a broker that other processes listen to."""
    from celery import Celery

    sender = Celery("c2s", broker=broker_url, set_as_current=False)
    sender.conf.update(
        broker_transport_options=BROKER_OPTIONS, broker_connection_timeout=2, task_ignore_result=True
    )

    def ring() -> None:
        sender.send_task(TASK, expires=HINT_SECONDS, retry=False, ignore_result=True)

    return ring


def reachable(broker_url: str) -> bool:
    """Whether the broker answers within about a second."""
    from kombu import Connection

    options = BROKER_OPTIONS | {"socket_timeout": 1, "socket_connect_timeout": 1}
    try:
        with Connection(broker_url, connect_timeout=1, transport_options=options) as connection:
            connection.channel()  # the first that talks to the broker
    except Exception:  # each broker's client has errors of its own
        return False
    return True
