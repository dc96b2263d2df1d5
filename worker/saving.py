"""What a job wrote on its way to the store: in a thread, so that the claim is kept meanwhile."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

import structlog

from app.core.errors import Damaged, ServiceError, Unavailable
from app.core.storage import Store
from worker import holding, messages

LOOK_SECONDS = 0.2  # between looks at the claim
AWAY_SECONDS = 5.0  # until a job is given back: whoever takes it next asks the same store
PAUSE_SECONDS = 1.0  # between two journeys: epochs may be shorter
Result = TypeVar("Result")
log = structlog.get_logger("c2s.worker")


class StoreAway(Exception):
    """What the job needs cannot be fetched now; nothing has been done yet, and nothing is the job's fault."""


def fetched(store: Store, hold: holding.Hold, work: Callable[[], Result]) -> Result:
    """What a job begins with, from a store that may be away; a disk of ours that fails is a failure."""
    try:
        return meanwhile(hold, work)
    except Unavailable as exc:
        if isinstance(exc, Damaged) or exc.code == "model_damaged" or not store.remote:
            raise
        meanwhile(hold, lambda: time.sleep(AWAY_SECONDS))
        raise StoreAway(str(exc)) from exc


def meanwhile(hold: holding.Hold, work: Callable[[], Result]) -> Result:
    """Do something slow while the claim is kept; a claim that is lost ends the waiting."""
    promise: Future[Result] = Future()
    _start(promise, work)
    while True:
        try:
            return promise.result(LOOK_SECONDS)
        except TimeoutError:
            if promise.done():
                raise  # the work's own
            hold.keep()


class Saver:
    """Brings states to the store; those that come while one is on its way go together."""

    def __init__(self, save: Callable[[], None] | None = None) -> None:
        self._save = save  # None: what is on the disk is safe
        self._waiting: list[messages.Checkpoint] = []
        self._leaving: list[messages.Checkpoint] = []
        self._journey: Future[None] | None = None
        self._began = 0.0

    def take(self, state: messages.Checkpoint) -> None:
        """A state is on the disk."""
        self._waiting.append(state)

    def arrived(self) -> list[messages.Checkpoint]:
        """The states that have become safe since the last question; sends those that wait on their way."""
        if self._save is None:
            safe, self._waiting = self._waiting, []
            return safe
        safe = self._returned() if self._journey is not None and self._journey.done() else []
        if self._waiting and self._journey is None and time.monotonic() - self._began >= PAUSE_SECONDS:
            self._began, self._journey = time.monotonic(), Future()
            self._leaving, self._waiting = self._waiting, []
            _start(self._journey, self._save)
        return safe

    def finish(self, hold: holding.Hold, *, needed: bool) -> list[messages.Checkpoint]:
        """Wait until nothing is on its way; what still waits goes too, if the states are needed."""
        if not needed:
            self._waiting = []
        safe = self.arrived()
        while self._journey is not None or self._waiting:
            self._began = 0.0  # no pause any more
            time.sleep(LOOK_SECONDS / 4)
            hold.keep()
            safe += self.arrived()
        return safe

    def _returned(self) -> list[messages.Checkpoint]:
        journey, self._journey = self._journey, None
        error = journey.exception() if journey is not None else None
        if error is None:
            return self._leaving
        if not isinstance(error, ServiceError | OSError):
            raise error
        log.warning("state_not_saved", error=str(error))  # the next one may be; this one counts for nothing
        return []


def _start(promise: Future[Result], work: Callable[[], Result]) -> None:
    def run() -> None:
        try:
            promise.set_result(work())
        except BaseException as exc:
            promise.set_exception(exc)

    threading.Thread(target=run, name="saving", daemon=True).start()
