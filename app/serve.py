"""The API process: uvicorn with our limits, on a socket that its starter may have opened."""

import argparse
import gc
import math
import os
import signal
import socket
import sys
import types
from collections.abc import Sequence

import uvicorn
from fastapi import FastAPI

from app import main, protocol
from app.core import access, guard, logs, schema, settings, tracing

# Objects that may be made before the collector looks for cycles: a crowd of requests makes thousands and few cycles
YOUNG = 20_000


def run(listening: socket.socket | None = None) -> None:
    """Serve until told to stop."""
    chosen = settings.load()
    hidden = (*chosen.secrets, access.token(chosen))
    logs.configure(chosen.log_level, chosen.log_format, hidden=hidden)
    tracing.configure("c2s-api")
    schema.upgrade(chosen.database)
    application = main.create_app(chosen)
    if (quick := logs.often("request", chosen.log_level, chosen.log_format, hidden=hidden)) is not None:
        application.state.tell = quick
    config = uvicorn.Config(
        application,
        host=chosen.host,
        port=chosen.port,
        http=protocol.Guarded,
        loop="uvloop",
        log_config=None,  # ours is set up already
        access_log=False,
        server_header=False,
        timeout_keep_alive=5,
        limit_concurrency=1000,  # beyond, 503 at once: a short queue answers sooner than a long one
        # predictions and uploads under way may end; event streams end by themselves and resume elsewhere
        timeout_graceful_shutdown=math.ceil(chosen.grace_seconds),
    )
    Server(config, application).run(sockets=[listening] if listening else None)
    tracing.close()


class Server(uvicorn.Server):
    """Tells the application at once that it will stop, so that streams end by themselves."""

    def __init__(self, config: uvicorn.Config, application: FastAPI) -> None:
        super().__init__(config)
        self._application = application

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start; what is there by then stays, and the collector need not look at it again and again."""
        await super().startup(sockets)
        gc.collect()
        gc.freeze()
        gc.set_threshold(YOUNG, 10, 10)

    def handle_exit(self, sig: int, frame: types.FrameType | None) -> None:
        """Take a signal to stop: ending as asked is success, where uvicorn would die by the signal in the end."""
        self._application.state.leaving = True
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True


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
