"""A load generator on raw HTTP/1.1: requests leave on a clock, whether or not earlier ones were answered.

A latency runs from the moment at which its request should have left, so that a slow service cannot slow the clock and
look fast. Connections are kept alive, one request on each at a time; a new one is opened when none is free.
"""

import asyncio
import contextlib
import itertools
import math
import re
import time
from collections import Counter
from dataclasses import dataclass, field

LENGTH = re.compile(rb"\r\ncontent-length: (\d+)", re.IGNORECASE)
IDLE_SECONDS = (
    4.0  # the service closes after 5 s of silence; we do so first, and no request meets a closing line
)
CONNECTIONS = 4000  # of one service; beyond, the generator itself would be the thing measured
PATIENCE = 30.0  # seconds for the last answers
SHED = (429, 503)


def request(method, path, *, token="", body=b""):
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1"]
    lines += [f"Authorization: Bearer {token}"] if token else []
    lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"] if body else []
    return "\r\n".join([*lines, "", ""]).encode() + body


def percentile(values, share):
    """The smallest value that is not below this share of all."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)] if values else math.nan


class Line(asyncio.Protocol):
    """One connection."""

    def __init__(self):
        self.transport = self.answer = None
        self.used_at = 0.0

    def connection_made(self, transport):
        self.transport = transport

    def ask(self, request):
        self.buffer, self.needed = b"", None
        self.answer = asyncio.get_running_loop().create_future()
        self.transport.write(request)
        return self.answer

    def data_received(self, data):
        if self.answer is None or self.answer.done():
            self.transport.close()
            return
        self.buffer += data
        if self.needed is None and (end := self.buffer.find(b"\r\n\r\n")) >= 0:
            head = self.buffer[:end]
            self.needed = end + 4 + int(LENGTH.search(head)[1])
            self.last = b"connection: close" in head.lower()
        if self.needed is not None and len(self.buffer) >= self.needed:
            self.used_at = time.monotonic()
            self.answer.set_result(int(self.buffer[9:12]))
            if self.last:
                self.transport.close()

    def connection_lost(self, _exc):
        if self.answer is not None and not self.answer.done():
            self.answer.set_exception(ConnectionResetError("closed before it answered"))

    @property
    def usable(self):
        return not self.transport.is_closing()


class Address:
    """A service on loopback, and the connections to it."""

    def __init__(self, port):
        self.port, self.idle, self.open = port, [], 0

    async def ask(self, request):
        """The status of the answer."""
        line = self._kept() or await self._connect()
        try:
            status = await line.ask(request)
        except BaseException:
            line.transport.abort()
            self.open -= 1
            raise
        if line.usable:
            self.idle.append(line)
        else:
            self.open -= 1
        return status

    def _kept(self):
        while self.idle:
            line = self.idle.pop()
            if line.usable and time.monotonic() - line.used_at < IDLE_SECONDS:
                return line
            line.transport.close()
            self.open -= 1
        return None

    async def _connect(self):
        if self.open >= CONNECTIONS:
            raise RuntimeError("the generator has no connection left")
        self.open += 1
        try:
            loop = asyncio.get_running_loop()
            return (await loop.create_connection(Line, "127.0.0.1", self.port))[1]
        except BaseException:
            self.open -= 1
            raise

    def close(self):
        for line in self.idle:
            line.transport.abort()
        self.idle.clear()


@dataclass
class Tally:
    """What became of the requests: (when it was due, since the start; its latency; what was answered)."""

    answers: list = field(default_factory=list)

    def note(self, due, latency, outcome):
        self.answers.append((due, latency, outcome))

    def latencies(self, *wanted, since=0.0):
        """Of the answers with these outcomes; of all that came without any."""
        return [
            took
            for due, took, outcome in self.answers
            if due >= since and (outcome in wanted if wanted else outcome != "timeout")
        ]

    @property
    def outcomes(self):
        return Counter(outcome for _, _, outcome in self.answers)

    def errors(self, expected):
        return sum(count for outcome, count in self.outcomes.items() if outcome != expected)

    def unexpected(self, expected):
        """Outcomes that no load excuses; a refusal and a time-out are figures."""
        excused = {expected, "timeout", *SHED}
        return {outcome: count for outcome, count in self.outcomes.items() if outcome not in excused}

    def __str__(self):
        took = self.latencies()
        p50, p99, top = (
            1000 * one for one in (percentile(took, 0.5), percentile(took, 0.99), max(took, default=0))
        )
        said = ", ".join(f"{count} x {outcome}" for outcome, count in sorted(self.outcomes.items(), key=str))
        return f"p50 {p50:.0f}, p99 {p99:.0f}, max {top:.0f} ms; {said}"


class Generator:
    """Sends to one service or to several in turns."""

    def __init__(self, *ports):
        self.addresses = [Address(port) for port in ports]
        self.turns = itertools.cycle(self.addresses)
        self.pending = {}

    async def one(self, request, tally, due, began):
        try:
            outcome = await next(self.turns).ask(request)
        except OSError as exc:
            outcome = type(exc).__name__
        tally.note(due - began, time.monotonic() - due, outcome)

    async def constant(self, requests, *, rate, seconds, tally):
        """The clock; it ends when the last request has left, not when it is answered."""
        began = time.monotonic()
        for number in range(round(rate * seconds)):
            due = began + number / rate
            if (early := due - time.monotonic()) > 0:
                await asyncio.sleep(early)
            task = asyncio.create_task(self.one(next(requests), tally, due, began))
            self.pending[task] = tally, due - began
            task.add_done_callback(self.pending.pop)
        return tally

    async def drain(self):
        """Wait for the answers that are still due; what does not come is a time-out."""
        if self.pending:
            await asyncio.wait(list(self.pending), timeout=PATIENCE)
        late = dict(self.pending)
        for task, (tally, due) in late.items():
            task.cancel()
            tally.note(due, PATIENCE, "timeout")
        await asyncio.gather(*late, return_exceptions=True)

    async def closed(self, requests, *, at_once, tally, seconds=math.inf, count=math.inf):
        """Ask again as soon as answered, `at_once` at a time; the seconds that it took."""
        began, sent = time.monotonic(), 0

        async def ask():
            nonlocal sent
            while sent < count and time.monotonic() - began < seconds:
                sent += 1
                await self.one(next(requests), tally, time.monotonic(), began)

        await asyncio.gather(*(ask() for _ in range(at_once)))
        return time.monotonic() - began

    def close(self):
        for address in self.addresses:
            address.close()


@contextlib.asynccontextmanager
async def generator(*ports):
    made = Generator(*ports)
    try:
        yield made
    finally:
        await made.drain()
        made.close()
        await asyncio.sleep(0)
