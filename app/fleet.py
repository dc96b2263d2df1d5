"""Several API processes behind one socket: started, restarted and stopped together, counting into the same figures.

For deployments on PostgreSQL: SQLite has one writer at a time, whose turns the threads of one process take in order.
"""

import sys
import time

from app import embedded
from app.core import errors, logs, metrics, schema
from app.core.settings import Settings


def run(settings: Settings, processes: int) -> None:
    """Serve with so many processes until SIGINT or SIGTERM."""
    if settings.database.startswith("sqlite"):
        raise errors.Conflict("several API processes need PostgreSQL: set C2S_DATABASE_URL")
    logs.configure(settings.log_level, settings.log_format, hidden=settings.secrets)
    schema.upgrade(settings.database)
    with metrics.share(), embedded.listening(settings) as socket, embedded.signals() as told:
        command = [sys.executable, "-m", "app.serve", "--fd", str(socket.fileno())]
        children = [
            embedded.Child(f"api-{number + 1}", command, None, fds=(socket.fileno(),))
            for number in range(processes)
        ]
        try:
            while not told():
                for child in children:
                    child.tend()
                time.sleep(embedded.POLL)
        finally:
            socket.close()  # who comes now is refused at once, instead of waiting for nobody
            embedded.stop(children, settings.grace_seconds + 15)
