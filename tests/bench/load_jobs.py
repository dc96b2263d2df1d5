"""L1, L2, L5: jobs submitted at a rate, on both databases, and a queue of ten thousand."""

import contextlib
import itertools
import json
import tempfile
import time
from pathlib import Path

import httpx
import psutil
import service
from load_client import Tally, generator, percentile, request
from load_figures import MB, Figure, Watch
from load_machine import Beside
from ports import free_port
from servers import Postgres, Redis

from app.core import claims

RATE_SQLITE, RATE_POSTGRES, P99 = 100, 300, 0.1
QUEUED, CLAIMS, PAGES = 10_000, 300, 300
WORKER_SECONDS = 10.0


class Durable(Postgres):
    """The test server trades durability for speed; a figure must not."""

    def command(self):
        return ["fsync=on" if part == "fsync=off" else part for part in super().command()]


@contextlib.contextmanager
def running(**more):
    """A service with an API and no worker."""
    with (
        tempfile.TemporaryDirectory(prefix="c2s-load-") as folder,
        service.Service(Path(folder), workers=0, **more) as known,
    ):
        yield known


def submission(known, **more):
    """POST /jobs of a job of a moment, again and again."""
    body = json.dumps(service.spec(known.dataset(), epochs=(1, 1), **more)).encode()
    return itertools.repeat(request("POST", "/jobs", token=service.TOKEN, body=body))


async def warm(sender, posts):
    await sender.closed(posts, at_once=4, count=100, tally=Tally())


async def steady(served, posts, *, rate, seconds):
    """A constant rate over processes by their ports; (tally, what the machine did beside it)."""
    async with generator(*served) as sender:
        await warm(sender, posts)
        tally = Tally()
        with Beside(*served.values()) as beside:
            await sender.constant(posts, rate=rate, seconds=seconds, tally=tally)
            await sender.drain()
    return tally, beside.said(len(tally.answers))


def judged(name, run, tally, beside=""):
    held = not tally.errors(202) and percentile(tally.latencies(), 0.99) <= P99
    said = f"{tally}; {beside}" if beside else str(tally)
    return Figure(name, run, "p99 <= 100 ms, 0 errors", said, held, tally.unexpected(202))


async def l1(asked):
    """100 jobs a second on SQLite."""
    with running() as known:
        served = {known.port: known.api.pid}
        found = await steady(served, submission(known), rate=RATE_SQLITE, seconds=asked.seconds)
    yield judged("L1", f"{RATE_SQLITE}/s POST /jobs, SQLite, {asked.seconds:g} s", *found)


async def l2(asked):
    """300 jobs a second on PostgreSQL, over two API processes."""
    with (
        Durable() as postgres,
        Redis() as redis,
        running(database=postgres.database(), broker=redis.url, C2S_RELAY_SECONDS=1) as known,
        another_api(known) as second,
    ):
        served = {known.port: known.api.pid} | second
        found = await steady(served, submission(known), rate=RATE_POSTGRES, seconds=asked.seconds)
    yield judged("L2", f"{RATE_POSTGRES}/s POST /jobs, PostgreSQL, 2 APIs, {asked.seconds:g} s", *found)


@contextlib.contextmanager
def another_api(known):
    """A second API process on the same database and store: its port and its id."""
    port = free_port()
    process = known._spawn("app.serve", C2S_PORT=str(port))
    try:
        known.until(lambda: answers(port), what="the second API answers")
        yield {port: process.pid}
    finally:
        process.terminate()
        process.wait(30)


def answers(port):
    with contextlib.suppress(httpx.TransportError):
        return httpx.get(f"http://127.0.0.1:{port}/readyz").status_code == 200
    return False


async def l5(_asked):
    """Ten thousand jobs wait: what submitting, claiming, listing and a worker cost then."""
    run = f"{QUEUED} queued jobs"
    with running() as known:
        posts = submission(known)
        alone = worker_memory(known, known.submit(known.dataset(), epochs=(1, 1)))
        tally = Tally()
        async with generator(known.port) as sender:
            took = await sender.closed(posts, at_once=16, count=QUEUED, tally=tally)
            pages = await listed(sender)
        yield Figure(
            "L5", run, "submit <= 120 s", f"{took:.0f} s; {tally}", took <= 120, tally.unexpected(202)
        )
        claimed = percentile(claim_times(known), 0.99)
        yield Figure("L5", run, "claim p99 <= 50 ms", f"{1000 * claimed:.1f} ms", claimed <= 0.05)
        listing = percentile(pages.latencies(), 0.99)
        yield Figure("L5", run, "list page p99 <= 100 ms", str(pages), listing <= 0.1, pages.unexpected(200))
        grown = (worker_memory(known) - alone) / MB
        said = f"{alone / MB:.0f} MB with one job, {grown:+.0f} MB"
        yield Figure("L5", run, "worker RSS + 50 MB at most", said, grown <= 50)


async def listed(sender):
    """Pages of all sizes and kinds that a client may ask for, one after the other."""
    queries = ["", "?limit=100", "?state=queued", "?limit=100&state=queued", "?state=failed"]
    gets = itertools.cycle(request("GET", f"/jobs{query}", token=service.TOKEN) for query in queries)
    tally = Tally()
    await sender.closed(gets, at_once=1, count=PAGES, tally=tally)
    return tally


def claim_times(known):
    """Seconds of each of many claims; what was claimed goes back to the queue."""
    took = []
    for _ in range(CLAIMS):
        began = time.monotonic()
        with known.database.begin() as tx:
            held = claims.claim(tx, owner="load", tasks=("train", "ingest"), lease=60, crash_limit=3)
        took.append(time.monotonic() - began)
        with known.database.begin() as tx:
            claims.release(tx, held)
    return took


def worker_memory(known, job_id=None):
    """The most that a worker held while it began with the queue, without the processes that train."""
    process = psutil.Process(known.start_worker().pid)

    def own():
        with contextlib.suppress(psutil.Error):
            tree = [process, *process.children(recursive=True)]
            return [one for one in tree if "trainer" not in " ".join(one.cmdline())]
        return []

    with Watch(own) as watch:
        if job_id:
            known.wait(job_id)
        time.sleep(WORKER_SECONDS)
    known.workers[-1].terminate()
    known.workers[-1].wait(60)
    return watch.peak()
