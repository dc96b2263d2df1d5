"""Celery's consumer with a shorter patience: a broker that comes back is heard within seconds."""

import functools
from typing import Any

from celery.worker import consumer

RECONNECT_SECONDS = 2  # between tries; Celery's own grow to thirty


class Consumer(consumer.Consumer):
    """The consumer of a worker."""

    def ensure_connected(self, conn: Any) -> Any:
        """Connect, however long it takes, trying at a steady pace."""
        conn.ensure_connection = functools.partial(conn.ensure_connection, interval_max=RECONNECT_SECONDS)
        return super().ensure_connected(conn)
