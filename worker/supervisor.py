"""Watches a child at work: passes on its news, keeps the claim, and ends it when it must end."""

import signal
import time
from dataclasses import dataclass
from typing import Literal

import structlog

from app.core import jobs, metrics
from worker import drain, failures, holding, messages, process, saving

LOOK_SECONDS = 0.2  # between looks at the drain flag
log = structlog.get_logger("c2s.worker")


@dataclass(frozen=True)
class Limits:
    """How patient the supervisor is, in seconds."""

    grace: float  # between asking the child to stop and killing it
    stall: float  # without a sign of life
    whole: float  # for all of it


@dataclass(frozen=True)
class Cut:
    """We ended the child, for this reason."""

    reason: Literal["cancel", "drain"]


@dataclass(frozen=True)
class Broken:
    """The child ended or was ended without a result; `again`: another attempt may go better."""

    code: jobs.Code
    message: str
    again: bool


Ending = messages.Last | Cut | Broken


class Supervisor:
    """The watch over one child."""

    def __init__(
        self,
        child: process.Child,
        hold: holding.Hold,
        limits: Limits,
        saver: saving.Saver | None = None,
    ) -> None:
        self.phase: str | None = None
        self._saver = saver or saving.Saver()
        self._child, self._hold, self._limits = child, hold, limits
        self._began = self._alive = time.monotonic()
        self._last: messages.Last | None = None
        self._cut: Cut | None = None
        self._cut_at = 0.0
        self._device: str | None = None  # where the child said that its memory is

    def watch(self) -> Ending:
        """Wait for the end of the child, which is over in every case when this returns or raises."""
        try:
            while True:
                if (ending := self._turn()) is not None:
                    return ending
        finally:
            self._child.end()
            if self._device is not None:
                metrics.memory(self._device, 0)

    def _turn(self) -> Ending | None:
        message = self._child.receive(LOOK_SECONDS)
        while message is not None:
            self._hear(message)
            self._note(self._saver.arrived())
            message = self._child.receive(0)
        self._note(self._saver.arrived())
        if self._child.silent:
            return self._ended()
        self._hold.keep()
        return self._decide(time.monotonic())

    def _hear(self, message: messages.News | messages.Last) -> None:
        self._alive = time.monotonic()
        match message:
            case messages.Progress():
                self._hold.progress(message.model_dump(exclude={"type"}))
            case messages.Estimated():
                self._hold.estimated(message.found)
            case messages.Checkpoint():
                self.phase = message.phase
                self._saver.take(message)
            case messages.Phase() | messages.Epoch():
                self.phase = message.phase
                self._hold.note(message.type, message.model_dump(exclude={"type", "cost"}))
                if isinstance(message, messages.Epoch) and message.cost is not None:
                    self._measure(message.phase, message.cost)
            case _:
                self._last = message

    def _measure(self, phase: str, cost: messages.Cost) -> None:
        self._device = cost.device
        metrics.epoch(phase, cost.seconds)
        metrics.memory(cost.device, cost.memory_bytes)

    def _note(self, states: list[messages.Checkpoint]) -> None:
        """A state counts once another host could go on from it."""
        for state in states:
            self._hold.note(state.type, state.model_dump(exclude={"type"}))

    def _decide(self, now: float) -> Ending | None:
        """Whether the child must stop, and whether it has had its time to do so."""
        if self._cut is not None:
            return self._cut if now - self._cut_at > self._limits.grace else None
        if self._hold.cancel or drain.wanted():
            self._cut, self._cut_at = Cut("cancel" if self._hold.cancel else "drain"), now
            log.info("stopping_child", reason=self._cut.reason, pid=self._child.pid)
            self._child.ask_to_stop()
        elif now - self._alive > self._limits.stall:
            return Broken("time_limit", f"no sign of life for {self._limits.stall:g} seconds", again=True)
        elif now - self._began > self._limits.whole:
            return Broken("time_limit", f"not done after {self._limits.whole:g} seconds", again=False)
        return None

    def _ended(self) -> Ending:
        """What the end of the child means."""
        code = self._child.end(self._limits.grace)
        if self._hold.cancel:
            return Cut("cancel")
        unfinished = self._last is None or isinstance(self._last, messages.Stopped)
        self._note(self._saver.finish(self._hold, needed=unfinished))
        if self._last is not None:
            return self._last
        if self._cut is not None:
            return self._cut
        if self._child.starved(code):
            return Broken(
                "out_of_memory", "the kernel ended the process of the job for want of memory", again=True
            )
        if failures.starved(self._child.last_words()):
            return Broken(
                "out_of_memory", f"memory ended, and the process of the job {_manner(code)}", again=True
            )
        return Broken("worker_lost", f"the process of the job {_manner(code)}", again=True)


def _manner(code: int) -> str:
    if code >= 0:
        return f"ended with code {code} and no word"
    try:
        return f"was ended by signal {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"
