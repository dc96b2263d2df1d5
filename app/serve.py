"""The API process: uvicorn with our limits, on a socket that its starter may have opened."""

import argparse
import os
import socket
import sys
from collections.abc import Sequence

import uvicorn

from app import main, protocol
from app.core import db, guard, logs, settings


def run(listening: socket.socket | None = None) -> None:
    """Serve until told to stop."""
    chosen = settings.load()
    logs.configure(chosen.log_level)
    db.upgrade(chosen.database)
    config = uvicorn.Config(
        main.create_app(chosen),
        host=chosen.host,
        port=chosen.port,
        http=protocol.Guarded,
        loop="uvloop",
        log_config=None,  # ours is set up already
        access_log=False,
        server_header=False,
        timeout_keep_alive=5,
        limit_concurrency=1000,  # beyond, 503 at once: a short queue answers sooner than a long one
        timeout_graceful_shutdown=10,  # event streams end with the process and resume elsewhere
    )
    uvicorn.Server(config).run(sockets=[listening] if listening else None)


def entry(argv: Sequence[str] | None = None) -> int:
    """`python -m app.serve [--fd N] [--parent PID]`."""
    parser = argparse.ArgumentParser(prog="app.serve")
    parser.add_argument("--fd", type=int)
    parser.add_argument("--parent", type=int)
    chosen = parser.parse_args(argv)
    if chosen.parent is not None:
        guard.die_with_parent(chosen.parent)
    run(socket.socket(fileno=os.dup(chosen.fd)) if chosen.fd is not None else None)
    return 0


if __name__ == "__main__":
    sys.exit(entry())
