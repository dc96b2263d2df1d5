"""A closed loop over kept connections, as lean as Python permits: it shares the cores with what it measures.

Each connection asks again in the moment it is answered. Statuses other than 200 are counted and never timed.
"""

import asyncio
import time
from collections import Counter
from dataclasses import dataclass, field

from load_client import LENGTH, percentile

SETTLE = 0.3  # seconds before the clock starts: connections, caches, and a server that was frozen


def post(path, body, kind, token=""):
    """A request in bytes."""
    lines = [f"POST {path} HTTP/1.1", "Host: 127.0.0.1", f"Content-Type: {kind}"]
    lines += [f"Authorization: Bearer {token}"] if token else []
    return "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode() + body


@dataclass
class Turn:
    """What a server did in one turn."""

    seconds: float
    latencies: list = field(default_factory=list)
    wrong: Counter = field(default_factory=Counter)
    cpu: float = 0.0  # seconds of the server's processes, while connections settle included

    @property
    def rate(self):
        return len(self.latencies) / self.seconds

    @property
    def cost(self):
        """Seconds of the server's CPU for an answer; neighbours hardly touch it."""
        return self.cpu / max(1, len(self.latencies)) * self.seconds / (self.seconds + SETTLE)

    @property
    def p50(self):
        return percentile(self.latencies, 0.5)

    @property
    def p99(self):
        return percentile(self.latencies, 0.99)


class Asker(asyncio.Protocol):
    """One connection of a turn."""

    def __init__(self, request, since, until, turn):
        self.request, self.since, self.until, self.turn = request, since, until, turn
        self.ended = asyncio.get_running_loop().create_future()

    def connection_made(self, transport):
        self.transport = transport
        self.ask()

    def ask(self):
        self.parts, self.needed, self.size = [], None, 0
        self.began = time.perf_counter()
        self.transport.write(self.request)

    def data_received(self, data):
        self.parts.append(data)
        self.size += len(data)
        if self.needed is None:
            whole = b"".join(self.parts)
            if (end := whole.find(b"\r\n\r\n")) < 0:
                return
            self.needed = end + 4 + int(LENGTH.search(whole[:end])[1])
        if self.size >= self.needed:
            self.answered(time.perf_counter())

    def answered(self, now):
        if self.parts[0][9:12] != b"200":
            self.turn.wrong[self.parts[0][9:12].decode()] += 1
        elif self.since <= now < self.until:
            self.turn.latencies.append(now - self.began)
        if now < self.until:
            self.ask()
        else:
            self.transport.close()

    def connection_lost(self, _exc):
        if time.perf_counter() < self.until:
            self.turn.wrong["closed"] += 1
        if not self.ended.done():
            self.ended.set_result(None)


async def turn(port, request, *, at_once, seconds):
    """The answers of so many seconds; those of a server that hangs are a time-out."""
    since = time.perf_counter() + SETTLE
    found, loop = Turn(seconds), asyncio.get_running_loop()
    askers = [
        (
            await loop.create_connection(
                lambda: Asker(request, since, since + seconds, found), "127.0.0.1", port
            )
        )[1]
        for _ in range(at_once)
    ]
    _, late = await asyncio.wait([asker.ended for asker in askers], timeout=SETTLE + seconds + 15)
    found.wrong.update({"timeout": len(late)} if late else {})
    for asker in askers:
        asker.transport.abort()
    return found
