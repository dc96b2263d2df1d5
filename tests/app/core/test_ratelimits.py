"""Buckets in Redis: shared by all processes, and no reason to refuse anybody while Redis is away."""

import anyio
import structlog

from app.core import ratelimits


def test_two_processes_share_a_bucket(redis_server):
    redis_server.flush()

    async def story():
        one, two = ratelimits.buckets(redis_server.url), ratelimits.buckets(redis_server.url)
        granted = [(await each.take("key_a", 4)).granted for each in (one, two) * 3]
        other = await one.take("key_b", 4)
        await one.close()
        await two.close()
        return granted, other

    granted, other = anyio.run(story)
    assert granted == [True] * 4 + [False] * 2
    assert (other.granted, int(other.tokens)) == (True, 3)


def test_racing_requests_take_no_more_than_there_is(redis_server):
    redis_server.flush()

    async def story():
        shared = ratelimits.buckets(redis_server.url)
        found = []

        async def ask():
            found.append((await shared.take("key", 10)).granted)

        async with anyio.create_task_group() as group:
            for _ in range(30):
                group.start_soon(ask)
        await shared.close()
        return found

    assert sum(anyio.run(story)) == 10


def test_a_frozen_redis_costs_the_sharing_and_is_said_once(redis_server):
    redis_server.flush()

    async def story():
        shared = ratelimits.buckets(redis_server.url)
        first = await shared.take("key", 3)
        redis_server.freeze()
        try:
            with anyio.fail_after(2), structlog.testing.capture_logs() as logs:
                away = [(await shared.take("key", 3)).granted for _ in range(5)]
        finally:
            redis_server.thaw()
        await shared.close()
        return first.granted, away, logs

    first, away, logs = anyio.run(story)
    assert first
    assert away == [True] * 3 + [False] * 2  # the process's own bucket
    assert [entry["event"] for entry in logs] == ["rate_limits_not_shared"]


def test_a_redis_that_comes_back_is_used_again(redis_server, monkeypatch):
    redis_server.flush()
    monkeypatch.setattr(ratelimits, "PAUSE_SECONDS", 0.0)

    async def story():
        shared = ratelimits.buckets("redis://127.0.0.1:1/0")
        assert (await shared.take("key", 1)).granted
        await shared.close()
        shared = ratelimits.buckets(redis_server.url)
        redis_server.freeze()
        assert (await shared.take("key", 1)).granted
        redis_server.thaw()
        await anyio.sleep(0.3)
        assert (await shared.take("key", 1)).granted  # of the bucket that all share, which is still full
        assert not (await shared.take("key", 1)).granted
        await shared.close()

    anyio.run(story)


def test_the_embedded_default_keeps_buckets_in_memory():
    assert isinstance(ratelimits.buckets("memory://"), ratelimits.Local)
