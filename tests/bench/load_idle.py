"""L9, L10: `c2s up` as a person runs it, doing nothing, and how soon it answers."""

import contextlib
import http.client
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import psutil
from load_figures import MB, Figure, rss
from ports import free_port
from service import ROOT

STARTS, PATIENCE, SETTLE = 3, 60.0, 5.0


@contextlib.contextmanager
def up():
    """`c2s up` on a home of its own with the settings of a fresh machine; (process, seconds until ready)."""
    with tempfile.TemporaryDirectory(prefix="c2s-load-") as home:
        port = free_port()
        clean = {name: value for name, value in os.environ.items() if not name.startswith("C2S_")}
        known = {"C2S_HOME": home, "C2S_PORT": str(port), "PYTHONPATH": str(ROOT)}
        began = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, "-m", "app", "up"],
            env=clean | known,
            cwd=home,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            wait_until_ready(process, port)
            yield process, time.monotonic() - began
        finally:
            stop(process)


def wait_until_ready(process, port):
    deadline = time.monotonic() + PATIENCE
    while not ready(port):
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError("c2s up did not become ready")
        time.sleep(0.02)


def ready(port):
    """Whether /readyz answers 200; before the API runs, the supervisor's socket accepts and nobody answers."""
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    with contextlib.closing(line), contextlib.suppress(OSError, http.client.HTTPException):
        line.request("GET", "/readyz")
        return line.getresponse().status == 200
    return False


def stop(process):
    tree = family(process)
    process.send_signal(signal.SIGINT)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(PATIENCE)
    for one in [*tree, process]:
        with contextlib.suppress(psutil.Error, OSError):
            one.kill()
    process.wait()


def family(process):
    with contextlib.suppress(psutil.Error):
        root = psutil.Process(process.pid)
        return [root, *root.children(recursive=True)]
    return []


def used(processes):
    """Seconds of CPU so far, with those of children that ended."""
    return sum(sum(one.cpu_times()[:4]) for one in processes)


async def l9(asked):
    """The service idles."""
    with up() as (process, _):
        time.sleep(SETTLE)  # the worker starts after the API
        processes = family(process)
        began, before = time.monotonic(), used(processes)
        time.sleep(asked.idle_seconds)
        share = (used(processes) - before) / (time.monotonic() - began)
        resident = rss(*processes) / MB
        alone = sum(one.memory_full_info().pss for one in processes) / MB
    run = f"c2s up idle for {asked.idle_seconds:g} s, {len(processes)} processes"
    yield Figure("L9", run, "<= 1.5 % of one core", f"{share:.2%}", share <= 0.015)
    said = f"{resident:.0f} MB; {alone:.0f} MB with shared pages counted once"
    yield Figure("L9", run, "<= 400 MB RSS", said, resident <= 400)


async def l10(_asked):
    """From nothing to ready."""
    took = []
    for _ in range(STARTS):
        with up() as (_, seconds):
            took.append(seconds)
    middle = statistics.median(took)
    said = f"{middle:.2f} s (" + ", ".join(f"{one:.2f}" for one in took) + ")"
    yield Figure("L10", f"c2s up to /readyz, median of {STARTS}", "<= 5 s", said, middle <= 5)
