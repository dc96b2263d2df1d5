"""What every child of a supervisor does around its work: it hears the wish to stop, and tells whatever goes wrong.

A failure to load the libraries is told too; a process that ends without a word has crashed.
"""

import contextlib
import os
import signal
from collections.abc import Callable
from types import FrameType
from typing import Any, Protocol

from worker import childhood, failures

NICE = 5  # the API comes first


class Teller(Protocol):
    """One who knows how far the work is, and heeds the wish to stop when there is something to keep."""

    phase: str
    stopping: bool


class Wish:
    """The supervisor's wish to stop: obeyed at once in phases that leave nothing to keep, by the teller afterwards."""

    def __init__(self, channel: childhood.Channel, at_once: tuple[str, ...]) -> None:
        self._channel, self._at_once = channel, at_once
        self.teller: Teller | None = None
        signal.signal(signal.SIGTERM, self._hear)

    @property
    def phase(self) -> str:
        """Where the work is."""
        return self.teller.phase if self.teller else "loading"

    def _hear(self, number: int, frame: FrameType | None) -> None:
        if self.teller is None or self.teller.phase in self._at_once:
            self._channel.say("stopped")
            childhood.leave(0)
        else:
            self.teller.stopping = True


Work = Callable[[dict[str, Any], childhood.Channel, Wish], None]


def run(work: Work, *, failed: str, at_once: tuple[str, ...] = ("loading",)) -> None:
    """Do as asked on standard input; `failed` is what the log calls it if that cannot be done."""
    channel, asked = childhood.enter()
    wish = Wish(channel, at_once)
    with contextlib.suppress(OSError):
        os.nice(NICE)
    try:
        work(asked, channel, wish)
    except BaseException as exc:  # out of memory and broken imports included: all of it must reach the row
        code, message = failures.explain(exc)
        channel.say("error", code=code, message=message, phase=wish.phase, again=failures.passing(exc))
        if failures.foreseen(exc):
            childhood.refuse(failed, code=code, message=message)
        else:
            childhood.lament(failed)  # after the message: without memory even this can fail
        childhood.leave(1)
    childhood.leave(0)
