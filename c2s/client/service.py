"""The service as a client knows it: asked again with the same key when it is busy, read page by page, listened to."""

import contextlib
import json
import secrets
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from c2s.client import problems
from c2s.client.calls import Answer, Call
from c2s.client.wires import Wire

BUSY: Final = frozenset(
    {408, 429, 502, 503, 504}
)  # refused or lost on the way: the same call may succeed later
FIRST_WAIT, LONGEST_WAIT = 0.25, 8.0  # seconds between attempts, doubling
PAGE = 100  # the most that a list gives at once
SILENCE = 45.0  # seconds without a byte of a stream, whose service says something every 15
LASTING = 3  # times as many attempts for a stream: about a minute, in which a service may restart
GONE: Final = 204  # a stream that is over and was heard to its end
BROKEN: Final = 400


@dataclass(frozen=True)
class Patience:
    """How often a call is sent again, and the longest that a service may ask a client to wait."""

    retries: int = 4
    longest: float = 60.0


@dataclass(frozen=True)
class Service:
    """A wire to a service and how to use it; `blocks`: whether callers wait in their own thread."""

    wire: Wire
    blocks: bool
    patience: Patience = Patience()
    advice: str = ""  # for who is not known there

    async def ask(self, call: Call) -> Answer:
        """The answer to a call."""
        return await self._sent(call, lambda: self.wire.send(call))

    async def _sent(self, call: Call, send: Callable[[], Awaitable[Answer]]) -> Answer:
        """The answer to a call that is sent again, unchanged, while it may still succeed."""
        for attempt in range(self.patience.retries + 1):
            last = attempt == self.patience.retries
            try:
                answer = await send()
            except problems.Unreachable as exc:
                if last or (exc.sent and not call.repeatable):
                    raise
                await self.wire.pause(_backoff(attempt))
                continue
            if answer.status < BROKEN:
                return answer
            if last or not self._worth_waiting(call, answer):
                raise self._refusal(answer)
            await self.wire.pause(_backoff(attempt) if answer.retry_after is None else answer.retry_after)
        raise AssertionError("the last attempt returns or raises")

    def _refusal(self, answer: Answer) -> problems.Problem:
        """The problem in an answer; a stranger is told where a key was looked for."""
        problem = problems.of(answer)
        if isinstance(problem, problems.Unauthorized) and self.advice:
            problem.advice = self.advice
            problem.add_note(self.advice)  # tracebacks and notebooks show it
        return problem

    def _worth_waiting(self, call: Call, answer: Answer) -> bool:
        """Whether to come back: a day's quota is not waited for, and 5xx of a gateway may hide a deed."""
        said = answer.retry_after
        refused = answer.status in (408, 429, 503) and said is not None
        return (
            answer.status in BUSY
            and (call.repeatable or refused)
            and (said is None or said <= self.patience.longest)
        )

    async def json(self, call: Call) -> Any:
        """The answer's plain data."""
        return (await self.ask(call)).json()

    async def save(self, call: Call, target: Path) -> Path:
        """Write an answer to a file, which appears whole."""
        draft = target.with_name(f"{target.name}.part")

        async def send() -> Answer:
            with draft.open("wb") as file:
                return await self.wire.save(call, file)

        try:
            await self._sent(call, send)
            return draft.replace(target)
        finally:
            draft.unlink(missing_ok=True)

    async def pages(self, call: Call, most: int | None = None) -> AsyncIterator[Any]:
        """Every item of a list, asked for a page at a time, or the first `most` of them."""
        left, after = most, None
        while left is None or left > 0:
            size = PAGE if left is None else min(PAGE, left)
            more = (("limit", str(size)),) + ((("after", str(after)),) if after is not None else ())
            page = await self.json(replace(call, params=call.params + more))
            for item in page["data"]:
                yield item
            left = None if left is None else left - len(page["data"])
            after = page.get("next_cursor")
            if not page["has_more"] or after is None:
                return

    async def events(
        self, path: str, *, after: int = 0, until: float | None = None
    ) -> AsyncIterator[dict[str, Any]]:
        """The events of a stream as they happen, each once; one that breaks is taken up where it was.

        `until` is a time of the monotonic clock, looked at whenever the service says something.
        """
        failures, ended = 0, False
        while not ended:
            try:
                async with contextlib.aclosing(self._heard(path, after, until)) as heard:
                    async for event in heard:
                        failures = 0
                        if event is not None and event["number"] > after:
                            after, ended = event["number"], event["type"] == "end"
                            yield event
                        if ended:
                            return
            except Over:
                return
            except (problems.Unreachable, problems.Problem) as exc:
                _check(until)
                failures += 1
                lasting = isinstance(exc, problems.Problem) and exc.status not in BUSY
                if lasting or failures > LASTING * self.patience.retries:
                    raise
            await self.wire.pause(_backoff(failures))

    async def _heard(
        self, path: str, after: int, until: float | None
    ) -> AsyncGenerator[dict[str, Any] | None, None]:
        """What one connection brings."""
        silence = SILENCE if until is None else min(SILENCE, max(0.1, until - time.monotonic()))
        headers = {"Accept": "text/event-stream", "Last-Event-ID": str(after)}
        async with self.wire.listen(Call("GET", path, headers=headers), silence) as stream:
            if stream.answer.status == GONE:
                raise Over
            if stream.answer.status >= BROKEN:
                raise self._refusal(stream.answer)
            async with contextlib.aclosing(_frames(stream.lines(), until)) as frames:
                async for event in frames:
                    yield event


class Over(Exception):
    """A stream that was heard to its end before."""


async def _frames(
    lines: AsyncIterator[str], until: float | None
) -> AsyncGenerator[dict[str, Any] | None, None]:
    """The data of server-sent events; None where the service only said that it is there."""
    data: list[str] = []
    async for line in lines:
        _check(until)
        name, _, value = line.partition(":")
        if name == "data":
            data.append(value.removeprefix(" "))
        elif not line and data:
            yield json.loads("\n".join(data))
            data = []
        elif not name:
            yield None


def _check(until: float | None) -> None:
    if until is not None and time.monotonic() > until:
        raise problems.TimedOut("it goes on, and was not waited for any longer")


def _backoff(attempt: int) -> float:
    """Seconds before the next attempt: doubling, and not the same for all who were cut at once."""
    most = min(LONGEST_WAIT, FIRST_WAIT * 2.0**attempt)
    return most / 2 + most * secrets.randbelow(1000) / 2000
