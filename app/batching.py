"""Micro-batches: what queued while the last forward pass ran is the next batch; nobody waits for a window to close.

Everything but the pass itself happens on the event loop, so nothing here needs a lock. Models take turns at the
compute slots; questions of one model take turns at its batches, so that a long one does not hold up a short one.
"""

import asyncio
import itertools
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

import numpy as np

from app.core import errors
from c2s import data, runtime

BATCH_ROWS = 64  # on a CPU a row costs the same from about 32 on
BATCH_NUMBERS = 2**20  # of the inputs: large pictures make large maps
WAITING_ROWS = 10_000  # of one model; more are told to come back
SLOTS = 2  # forward passes at once
SLOWLY = 0.05
QUICK_SECONDS = 0.002  # a pass that takes less runs on the loop: handing it to a thread would cost more

Found = runtime.Probabilities  # a row of probabilities for each row


class Overloaded(errors.TooMany):
    code, title, retry_after = "overloaded", "Too many rows are waiting for this model", 1


class Computes(Protocol):
    """Answers rows; `c2s.runtime.Session` does."""

    def probabilities(self, rows: data.Inputs) -> Found: ...


class Left(Exception):
    """The client went away before its rows were computed."""


def present() -> bool:
    """A client of whom nothing is known has not left."""
    return False


class Question:
    """Rows that somebody waits for."""

    __slots__ = ("answer", "count", "gone", "parts", "rows", "taken")

    def __init__(self, rows: data.Inputs, gone: Callable[[], bool], answer: asyncio.Future[Found]) -> None:
        self.rows, self.gone, self.answer = rows, gone, answer
        self.count, self.taken = len(rows), 0
        self.parts: list[Found] = []

    @property
    def unwanted(self) -> bool:
        """Whether nobody waits any more."""
        return self.answer.done() or self.gone()

    def take(self, most: int) -> data.Inputs:
        """The next rows of it."""
        start, self.taken = self.taken, min(self.count, self.taken + most)
        whole = start == 0 and self.taken == self.count
        return self.rows if whole else runtime.part(self.rows, start, self.taken)

    def receive(self, part: Found) -> None:
        """Rows that were computed; the last ones complete the answer."""
        self.parts.append(part)
        if self.taken == self.count and not self.answer.done():
            self.answer.set_result(self.parts[0] if len(self.parts) == 1 else np.concatenate(self.parts))

    def fail(self, why: BaseException) -> None:
        """End without an answer."""
        if not self.answer.done():
            self.answer.set_exception(why)


Batch = list[tuple[Question, data.Inputs]]  # questions and the rows of them that are next


class Line:
    """The questions of one model."""

    def __init__(self, model: Computes) -> None:
        self.model = model
        self.waiting: deque[Question] = deque()
        self.rows = 0  # that wait
        self.busy = False
        self.row_seconds: float | None = None  # of a pass; None before the first

    def batch(self) -> Batch:
        """The next rows to compute, of as many questions as fit; questions of clients who left are dropped."""
        chosen: Batch = []
        room = BATCH_ROWS
        while self.waiting and room > 0:
            question = self.waiting.popleft()
            if question.unwanted:
                self.rows -= question.count - question.taken
                question.fail(Left())
                continue
            room = min(room, _fitting(question.rows, room)) if not chosen else room
            part = question.take(room)
            self.rows -= len(part)
            room -= len(part)
            chosen.append((question, part))
        self.waiting.extend(question for question, _ in chosen if question.taken < question.count)
        return chosen

    def quick(self, rows: int) -> bool:
        """Whether so many rows take less time than a thread's start."""
        return self.row_seconds is not None and rows * self.row_seconds <= QUICK_SECONDS

    def learn(self, rows: int, seconds: float) -> None:
        """Remember how long a row takes: at once if less than was thought, slowly if more (it may have waited)."""
        seen = seconds / rows
        known = seen if self.row_seconds is None else self.row_seconds
        self.row_seconds = min(seen, known + SLOWLY * (seen - known))


class Batcher:
    """The compute slots of the process."""

    def __init__(self, *, slots: int = SLOTS, observe: Callable[[int], None] = lambda rows: None) -> None:
        self._free = slots
        self._pool = ThreadPoolExecutor(slots, thread_name_prefix="forward")
        self._turns: deque[Line] = deque()  # lines with questions that no slot works on; the first is next
        self._scheduled = False
        self._observe = observe  # told the rows of every batch

    async def ask(self, line: Line, rows: data.Inputs, gone: Callable[[], bool] = present) -> Found:
        """The probabilities of these rows, once their turn comes; a full queue is `Overloaded`."""
        if line.rows and line.rows + len(rows) > WAITING_ROWS:
            raise Overloaded(f"{line.rows} rows are waiting for this model, {WAITING_ROWS} may")
        answer: asyncio.Future[Found] = asyncio.get_running_loop().create_future()
        if not line.waiting and not line.busy:
            self._turns.append(line)
        line.waiting.append(Question(rows, gone, answer))
        line.rows += len(rows)
        self._wake()
        return await answer

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _wake(self) -> None:
        if not self._scheduled and self._turns and self._free > 0:
            self._scheduled = True
            # after all that is ready to run now, and may still ask
            asyncio.get_running_loop().call_soon(self._next)

    def _next(self) -> None:
        """Compute the next model's batch, here if it is quick."""
        self._scheduled = False
        line = self._turns.popleft()
        chosen = line.batch()
        count = sum(len(part) for _, part in chosen)
        if count:
            self._observe(count)
        if line.quick(count):
            self._deliver(line, chosen, *_forward(line.model, chosen))
        elif chosen:
            self._hand_over(line, chosen)
        if line.waiting and not line.busy:
            self._turns.append(line)
        self._wake()

    def _hand_over(self, line: Line, chosen: Batch) -> None:
        self._free -= 1
        line.busy = True

        def back(done: asyncio.Future[tuple[list[Found | BaseException], float]]) -> None:
            self._free += 1
            line.busy = False
            self._deliver(line, chosen, *done.result())
            if line.waiting:
                self._turns.append(line)
            self._wake()

        loop = asyncio.get_running_loop()
        loop.run_in_executor(self._pool, _forward, line.model, chosen).add_done_callback(back)

    def _deliver(
        self,
        line: Line,
        chosen: Batch,
        found: list[Found | BaseException],
        seconds: float,
    ) -> None:
        line.learn(sum(len(part) for _, part in chosen), seconds)
        for (question, _), part in zip(chosen, found, strict=True):
            if isinstance(part, BaseException):
                question.fail(part)
            else:
                question.receive(part)


def _forward(model: Computes, chosen: Batch) -> tuple[list[Found | BaseException], float]:
    """The probabilities of a batch, question by question; where the batch fails each is tried alone."""
    start = time.perf_counter()
    parts = [part for _, part in chosen]
    found: list[Found | BaseException]
    try:
        whole = model.probabilities(runtime.joined(parts))
        ends = list(itertools.accumulate(len(part) for part in parts))
        found = [whole[end - len(part) : end] for part, end in zip(parts, ends, strict=True)]
    except Exception as exc:
        found = [exc] if len(parts) == 1 else [_alone(model, part) for part in parts]
    return found, time.perf_counter() - start


def _alone(model: Computes, part: data.Inputs) -> Found | BaseException:
    try:
        return model.probabilities(part)
    except Exception as exc:
        return exc


def _fitting(rows: data.Inputs, most: int) -> int:
    """How many rows like these make a batch."""
    if isinstance(rows, data.Bags):
        return most
    return max(1, min(most, BATCH_NUMBERS // max(1, rows[:1].size)))
