"""Group commit: writers that wait for their turn share one transaction, and with it one flush of the disk.

The first to come leads: it begins, takes whoever waits by then, and wakes them when the commit is on disk. Those who
came meanwhile are led by the first of them. So an answer still waits for its own commit, but not for everybody else's.
"""

import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

from sqlalchemy import Connection

T = TypeVar("T")
Work = Callable[[Connection], Any]
MOST = 64  # writes of one transaction


class Write:
    """One writer's part of a transaction, and what became of it."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.woken = threading.Event()  # it is done, or has to lead
        self.done = False
        self.result: Any = None
        self.error: BaseException | None = None

    def attempt(self, connection: Connection) -> None:
        """Do the work behind a savepoint: what fails here fails alone."""
        try:
            with connection.begin_nested():
                self.result = self.work(connection)
        except Exception as exc:
            self.error = exc


class Queue:
    """Who waits to write; `carry_out` is given a function that takes the next group, and does its works."""

    def __init__(
        self, carry_out: Callable[[Callable[[], Sequence[Write]]], None], *, patience: float
    ) -> None:
        self._carry_out, self._patience = carry_out, patience
        self._lock = threading.Lock()
        self._waiting: list[Write] = []
        self._led = False

    def write(self, work: Callable[[Connection], T]) -> T:
        """Do the work in a transaction that is committed when this returns."""
        mine = Write(work)
        with self._lock:
            self._waiting.append(mine)
            follows, self._led = self._led, True
        if follows:
            self._follow(mine)
        if not mine.done:
            self._lead()
        if mine.error is not None:
            raise mine.error
        return cast(T, mine.result)

    def _follow(self, mine: Write) -> None:
        """Wait until the work is done, or until it is the next to lead."""
        if mine.woken.wait(self._patience):
            return
        with self._lock:
            if mine in self._waiting and not mine.woken.is_set():
                self._waiting.remove(mine)
                raise TimeoutError("no turn to write")
        mine.woken.wait()  # a leader has it, and always tells how it went

    def _lead(self) -> None:
        group: Sequence[Write] = ()

        def take() -> Sequence[Write]:
            nonlocal group
            with self._lock:
                group, self._waiting = self._waiting[:MOST], self._waiting[MOST:]
            return group

        try:
            self._carry_out(take)
        except BaseException as exc:
            for write in group or take():  # nothing was committed, so nothing was done
                write.error = write.error or exc
        finally:
            self._hand_over()
            for write in group:
                write.done = True
                write.woken.set()

    def _hand_over(self) -> None:
        with self._lock:
            self._led = bool(self._waiting)
            if self._waiting:
                self._waiting[0].woken.set()
