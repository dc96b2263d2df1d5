"""`python -m worker [--parent PID]`: a worker until SIGTERM, which gives running jobs back and exits with 0."""

import argparse
import contextlib
import sys
from collections.abc import Sequence

from app.core import guard, logs, metrics, settings
from worker.celery_app import app


def main(argv: Sequence[str] | None = None) -> int:
    """Run the worker."""
    parser = argparse.ArgumentParser(prog="worker")
    parser.add_argument("--parent", type=int)
    given = parser.parse_args(argv)
    if given.parent is not None:
        guard.die_with_parent(given.parent)
    chosen = settings.load()
    logs.configure(chosen.log_level, chosen.log_format, hidden=chosen.secrets)
    worker = app.Worker(
        loglevel="WARNING",
        quiet=True,
        optimization="fair",  # a hint goes to a process that is free
        without_gossip=True,  # workers know each other by rows alone
        without_mingle=True,
        without_heartbeat=True,
    )
    with metrics.share() if chosen.metrics_port else contextlib.nullcontext():
        worker.start()  # its processes count, its parent shows
    return int(worker.exitcode or 0)


if __name__ == "__main__":
    sys.exit(main())
