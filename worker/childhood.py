"""What a child does first: it binds its life to its supervisor's, and keeps standard output for messages.

Loads nothing but the standard library, so that whatever fails later can be told.
"""

import json
import math
import os
import sys
import threading
import traceback
from typing import Any

from app.core import guard

ORPHANED = 3  # exit code


class Channel:
    """The way to the supervisor: the original standard output, which nothing else can reach any more."""

    def __init__(self) -> None:
        self._to = os.dup(1)
        os.dup2(2, 1)  # a stray print goes to the log

    def say(self, kind: str, **facts: object) -> None:
        """Send one message; numbers that JSON does not know become null."""
        line = json.dumps({"type": kind, **facts}, default=str, allow_nan=False).encode() + b"\n"
        while line:
            line = line[os.write(self._to, line) :]


def enter() -> tuple[Channel, dict[str, Any]]:
    """Bind this process to its parent; returns the channel and what the parent asks for."""
    channel = Channel()
    asked: dict[str, Any] = json.loads(_line())
    guard.die_with_parent(asked["parent"])
    threading.Thread(target=_watch, name="guard", daemon=True).start()
    return channel, asked


def finite(metrics: dict[str, float]) -> dict[str, float | None]:
    """The metrics as JSON takes them."""
    return {name: value if math.isfinite(value) else None for name, value in metrics.items()}


def refuse(what: str, **facts: str) -> None:
    """Write one line to the log: why it cannot be done is known, and no trace would say more."""
    import structlog

    structlog.get_logger("c2s.child").warning(what, **facts)


def lament(what: str) -> None:
    """Write the exception in hand to the log, in whatever form still works."""
    try:
        import structlog

        structlog.get_logger("c2s.child").exception(what)
    except BaseException:  # memory may have run out, or the libraries be broken
        traceback.print_exc()


def leave(code: int) -> None:
    """End at once: what native libraries do on their way out can fail no more."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _line() -> bytes:
    """All that the parent says; nothing follows the end of the line."""
    pieces: list[bytes] = []
    while not pieces or not pieces[-1].endswith(b"\n"):
        piece = os.read(0, 2**16)
        if not piece:
            os._exit(ORPHANED)
        pieces.append(piece)
    return b"".join(pieces)


def _watch() -> None:
    """Wait until the pipe closes: the supervisor is gone, however it went, and nobody wants the work."""
    while os.read(0, 1):
        pass
    os._exit(ORPHANED)
