"""How often a key may ask: a bucket of one minute's requests that fills as time passes.

In memory for one process; in Redis, by one atomic script, where there is one to share. A Redis that is away costs the
sharing and nothing else: each process then keeps its own buckets, and says so in the log.
"""

import math
import time
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Protocol, cast

import structlog

from app.core import errors

WINDOW = 60.0
MOST = 10_000  # buckets; full ones need not be remembered
PATIENCE = 0.5  # seconds that a request may wait for a Redis that does not answer, at most once in a pause
PAUSE_SECONDS = 5.0  # between attempts at a Redis that is away
SCRIPT = """
local rate, time = tonumber(ARGV[1]), redis.call('TIME')
local now = tonumber(time[1]) + tonumber(time[2]) / 1000000
local kept = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local tokens = tonumber(kept[1]) or rate
tokens = math.min(rate, tokens + (now - (tonumber(kept[2]) or now)) * rate / 60)
local granted = 0
if tokens >= 1 then tokens = tokens - 1; granted = 1 end
redis.call('HSET', KEYS[1], 'tokens', string.format('%.6f', tokens), 'at', string.format('%.6f', now))
redis.call('EXPIRE', KEYS[1], 120)
return {granted, string.format('%.6f', tokens)}
"""
log = structlog.get_logger("c2s.ratelimits")


class Limited(errors.TooMany):
    code, title = "rate_limited", "The key asks too often"


@dataclass(frozen=True)
class Standing:
    """What is left of a bucket after a request took from it, or did not."""

    rate: int
    tokens: float
    granted: bool

    def headers(self) -> list[tuple[bytes, bytes]]:
        """The fields of the IETF draft: what is left, and the seconds until all of it is back."""
        reset = math.ceil((self.rate - self.tokens) * WINDOW / self.rate)
        fields = {"limit": self.rate, "remaining": int(self.tokens), "reset": reset}
        return [(f"ratelimit-{name}".encode(), str(value).encode()) for name, value in fields.items()]

    def wait(self) -> int:
        """Seconds until the next request would be granted."""
        return max(1, math.ceil((1 - self.tokens) * WINDOW / self.rate))


class Buckets(Protocol):
    async def take(self, key_id: str, rate: int) -> Standing:
        """Take one request from a key's bucket."""
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...


class Local:
    """Buckets of this process; used from the event loop alone."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[float, float]] = {}

    async def take(self, key_id: str, rate: int) -> Standing:
        now = time.monotonic()
        tokens, at = self._kept.get(key_id, (float(rate), now))
        tokens = min(float(rate), tokens + (now - at) * rate / WINDOW)
        granted = tokens >= 1
        if len(self._kept) >= MOST:
            self._kept = {name: kept for name, kept in self._kept.items() if now - kept[1] < WINDOW}
        self._kept[key_id] = tokens - granted, now
        return Standing(rate, tokens - granted, granted)

    async def close(self) -> None:
        self._kept.clear()


class Shared:
    """Buckets in Redis, for all processes together."""

    def __init__(self, url: str) -> None:
        from redis import asyncio as redis

        pool = redis.BlockingConnectionPool.from_url(  # a crowd waits for a connection, and opens no hundred
            url,
            max_connections=16,
            timeout=PATIENCE,
            socket_timeout=PATIENCE,
            socket_connect_timeout=PATIENCE,
        )
        self._redis = redis.Redis.from_pool(pool)
        self._script = self._redis.register_script(SCRIPT)
        self._own, self._away_until, self._away = Local(), 0.0, False

    async def take(self, key_id: str, rate: int) -> Standing:
        if time.monotonic() < self._away_until:
            return await self._own.take(key_id, rate)
        try:
            asked = self._script(keys=[f"c2s:rate:{key_id}"], args=[rate])
            granted, tokens = await cast(Awaitable[tuple[int, bytes]], asked)
        except Exception as exc:  # whatever its client raises, a request is not refused for it
            if not self._away:
                log.warning("rate_limits_not_shared", error=type(exc).__name__)
            self._away, self._away_until = True, time.monotonic() + PAUSE_SECONDS
            return await self._own.take(key_id, rate)
        self._away = False
        return Standing(rate, float(tokens), bool(granted))

    async def close(self) -> None:
        await self._redis.aclose()


def buckets(broker_url: str) -> Buckets:
    """Shared ones where the broker is a Redis, else this process's own."""
    return Shared(broker_url) if broker_url.startswith(("redis://", "rediss://")) else Local()
