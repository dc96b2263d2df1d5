"""L6, U1: uploads made up as they are sent; the service keeps them on disk and little of them in memory."""

import asyncio
import concurrent.futures
import itertools
import json
import socket
import time

import psutil
from load_client import Tally, generator, percentile, request
from load_figures import MB, Figure, Watch
from load_jobs import running
from service import TOKEN

SMALL, LARGE, AT_ONCE = 100_000_000, 2_000_000_000, 8
HEALTH_RATE = 50
HEAD = b"a,b,c,d,e,label\n"
BLOCK = b"0.125,1.5,-2.25,3.75,0.0625,red\n-0.5,2.5,1.25,0.875,4.125,blue\n" * 8000  # about half a megabyte


def send(port, size):
    """Upload a CSV file of about this size; (status, dataset id, bytes sent)."""
    count = size // len(BLOCK)
    length = len(HEAD) + count * len(BLOCK)
    lines = [
        "POST /datasets?name=load&format=csv HTTP/1.1",
        "Host: 127.0.0.1",
        f"Authorization: Bearer {TOKEN}",
    ]
    lines += ["Content-Type: text/csv", f"Content-Length: {length}", "Connection: close", "", ""]
    with socket.create_connection(("127.0.0.1", port), timeout=300) as line:
        line.sendall("\r\n".join(lines).encode() + HEAD)
        for _ in range(count):
            line.sendall(BLOCK)
        answer = b"".join(iter(lambda: line.recv(65536), b""))
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head[9:12]), json.loads(body).get("id"), length


async def sent(known, size, at_once):
    """Uploads from threads of their own, so that they do not delay the probes; (answers, seconds, probes)."""
    loop, probes = asyncio.get_running_loop(), Tally()
    gets = itertools.repeat(request("GET", "/livez"))
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        async with generator(known.port) as sender:
            began = time.monotonic()
            uploads = [loop.run_in_executor(pool, send, known.port, size) for _ in range(at_once)]
            probing = asyncio.create_task(
                sender.constant(gets, rate=HEALTH_RATE, seconds=600, tally=probes)  # cancelled below
            )
            answers = await asyncio.gather(*uploads)
            took = time.monotonic() - began
            probing.cancel()
            await asyncio.gather(probing, return_exceptions=True)
    return answers, took, probes


def statuses(answers):
    tally = Tally([(0.0, 0.0, status) for status, *_ in answers])
    return tally.unexpected(202) | {
        status: tally.outcomes[status] for status in (429, 503) if tally.outcomes[status]
    }


def tidy(known, answers):
    """Delete what was uploaded; while its reading waits for a worker the service keeps it, so we do it for both."""
    said = []
    for _, dataset_id, _ in answers:
        if dataset_id:
            said.append(known.client.delete(f"/datasets/{dataset_id}").status_code)
            known.store.remove_dataset(dataset_id)
    return {f"DELETE {status}": said.count(status) for status in set(said) - {204, 409}}


async def l6(_asked):
    """Eight uploads at once."""
    with running() as known:
        api = psutil.Process(known.api.pid)
        known.dataset()
        with Watch(lambda: [api]) as watch:
            answers, took, probes = await sent(known, SMALL, AT_ONCE)
        wrong = statuses(answers) | tidy(known, answers)
    run = f"{AT_ONCE} x {SMALL / MB:g} MB uploads at once"
    speed = sum(length for *_, length in answers) / took / MB
    yield Figure("L6", run, ">= 80 MB/s", f"{speed:.0f} MB/s", speed >= 80, wrong)
    said = f"{watch.before / MB:.0f} MB before, {watch.grown:+.0f} MB"
    yield Figure("L6", run, "RSS + 32 MB at most", said, watch.grown <= 32)
    p99 = percentile(probes.latencies(), 0.99)
    yield Figure("L6", run, "/livez p99 <= 200 ms", str(probes), p99 <= 0.2, probes.unexpected(200))


async def u1(_asked):
    """One upload of two gigabytes."""
    with running() as known:
        api = psutil.Process(known.api.pid)
        known.dataset()
        with Watch(lambda: [api]) as watch:
            answers, took, _ = await sent(known, LARGE, 1)
        wrong = statuses(answers) | tidy(known, answers)
    run = f"upload of a CSV file of {LARGE / 1e9:g} GB"
    said = f"{watch.before / MB:.0f} MB before, {watch.grown:+.0f} MB; {answers[0][2] / took / MB:.0f} MB/s"
    yield Figure("U1", run, "API RSS + 150 MB at most", said, watch.grown < 150, wrong)
