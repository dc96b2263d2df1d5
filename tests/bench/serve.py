"""Predictions over HTTP on loopback: our service against LitServe, BentoML, a naive endpoint and the floor, in turns.

The same LeNet, loader and machine for all; whoever's turn it is not is frozen. Ratios are medians over rounds of turns
that follow each other, so that a busy minute of the machine is a busy minute of both. A missed aim is a figure; an
answer other than 200 makes the exit code 1.
"""

import argparse
import contextlib
import functools
import json
import statistics
import sys
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import httpx
import psutil
import serve_home
import service
import uvloop
from load import machine
from load_figures import Figure
from load_machine import spent
from serve_client import post, turn
from serve_rivals import NAMES, Absent, Rival

AT_ONCE = (1, 16, 64)
FASTER, OF_FLOOR, SLOWER, READY, MEMORY = 3.0, 0.5, 1.1, 2.0, 300.0  # what the service is held to
JSON, NPY, PNG = "c2s json", "c2s npy", "c2s png"
FLOORS = ("floor", "layers", "constant")  # bare uvicorn, our own layers on it, and FastAPI


@dataclass
class Served:
    """Something to ask, and who answers it."""

    port: int
    request: bytes
    pid: int
    rival: Rival | None = None  # None: our service

    def cpu(self):
        """Seconds that its processes have used."""
        first = psutil.Process(self.pid)
        return spent([first, *first.children(recursive=True)])


def options(argv):
    parser = argparse.ArgumentParser(prog="serve.py")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each turn")
    parser.add_argument("--net", choices=("lenet", "lenet-5"), default="lenet")
    parser.add_argument("--only", nargs="+", choices=NAMES, default=list(NAMES), metavar="RIVAL")
    return parser.parse_args(argv)


def ours(known, model):
    """Our own service with the three bodies."""
    rows = json.dumps({"model": model, "inputs": [serve_home.picture().tolist()]}).encode()
    path = f"/predict?model={model}"
    bodies = {
        JSON: ("/predict", rows, "application/json"),
        NPY: (path, serve_home.npy(), "application/x-npy"),
        PNG: (path, serve_home.png(), "image/png"),
    }
    return {
        name: Served(known.port, post(*body, token=service.TOKEN), known.api.pid)
        for name, body in bodies.items()
    }


@contextlib.contextmanager
def rivals(names, folder):
    """Those that can be run here, frozen."""
    rows = json.dumps({"inputs": [serve_home.picture().tolist()]}).encode()
    with tempfile.TemporaryDirectory(prefix="c2s-rivals-") as logs, contextlib.ExitStack() as started:
        found = {}
        for name in names:
            binary = name in FLOORS
            kind, body = ("application/x-npy", serve_home.npy()) if binary else ("application/json", rows)
            try:
                rival = Rival(name, Path(logs), folder)
                started.callback(rival.stop)
                rival.until_answers(functools.partial(answers, rival.port, body, kind))
                rival.freeze()
            except Absent as exc:
                print(f"{name} is not measured: {exc}", flush=True)
                continue
            token = service.TOKEN if name == "layers" else ""
            request = post("/predict", body, kind, token=token)
            found[name] = Served(rival.port, request, rival.process.pid, rival)
        yield found


def answers(port, body, kind):
    with contextlib.suppress(httpx.TransportError):
        headers = {"Content-Type": kind, "Authorization": f"Bearer {service.TOKEN}"}
        return (
            httpx.post(f"http://127.0.0.1:{port}/predict", content=body, headers=headers).status_code == 200
        )
    return False


async def measure(served, chosen):
    """Turns by who answered and how many asked at once."""
    found, names = defaultdict(list), list(served)
    for number in range(chosen.rounds):
        for at_once in AT_ONCE:
            for name in names[number % len(names) :] + names[: number % len(names)]:
                one = served[name]
                if one.rival:
                    one.rival.thaw()
                before = one.cpu()
                took = await turn(one.port, one.request, at_once=at_once, seconds=chosen.seconds)
                took.cpu = one.cpu() - before
                found[name, at_once].append(took)
                if one.rival:
                    one.rival.freeze()
    return found


def show(turns, names):
    print(f"{'':<10}" + "".join(f"{f'{at_once} at once':>36}" for at_once in AT_ONCE))
    print(f"{'':<10}" + f"{'requests/s':>12}{'p50 ms':>8}{'p99 ms':>8}{'CPU us':>8}" * len(AT_ONCE))
    for name in names:
        cells = []
        for at_once in AT_ONCE:
            of_it = turns[name, at_once]
            rate = statistics.median(one.rate for one in of_it)
            p50, p99, cpu = (
                1000 * statistics.median(getattr(one, key) for one in of_it) for key in ("p50", "p99", "cost")
            )
            cells.append(f"{rate:>12.0f}{p50:>8.2f}{p99:>8.1f}{1000 * cpu:>8.0f}")
        print(f"{name:<10}" + "".join(cells))


def ratio(turns, key, one, other, at_once):
    """The median over rounds of one's figure against another's."""
    pairs = zip(turns[one, at_once], turns[other, at_once], strict=True)
    return statistics.median(getattr(a, key) / getattr(b, key) for a, b in pairs)


def figures(turns, names, ready, memory):
    """The aims and what became of them."""
    for rival, aimed in (("litserve", f">= {FASTER:g}x, lower p99"), ("bentoml", "(no aim)")):
        if rival in names:
            rate, p99 = (ratio(turns, key, JSON, rival, 64) for key in ("rate", "p99"))
            held = rival == "bentoml" or (rate >= FASTER and p99 < 1)
            said = f"{rate:.2f}x the requests/s, {p99:.2f}x the p99"
            yield Figure("S1", f"JSON against {rival}, 64 at once", aimed, said, held)
    for floor in (name for name in FLOORS if name in names):
        for body in (NPY, PNG):
            share = ratio(turns, "rate", body, floor, 64)
            cost = 1 / ratio(turns, "cost", body, floor, 64)
            aims = body == NPY and floor != "layers"
            aimed, held = (f">= {OF_FLOOR:.0%}", share >= OF_FLOOR) if aims else ("(no aim)", True)
            said = f"{share:.0%}, by CPU an answer {cost:.0%}"
            yield Figure("S2", f"{body} against {floor}, 64 at once", aimed, said, held)
    if "naive" in names:
        slower = ratio(turns, "p50", JSON, "naive", 1)
        yield Figure(
            "S3", "JSON against naive, 1 at once", f"p50 <= {SLOWER:g}x", f"{slower:.2f}x", slower <= SLOWER
        )
    yield Figure("S4", "start to ready, one model", f"< {READY:g} s", f"median {ready:.2f} s", ready < READY)
    yield Figure(
        "S5", "memory after all predictions", f"< {MEMORY:g} MB", f"{memory:.0f} MB", memory < MEMORY
    )


def main(argv=None):
    chosen = options(argv)
    print(machine())
    with serve_home.running(chosen.net) as (known, model, folder):
        ready = serve_home.starts(known)
        with rivals(chosen.only, folder) as others:
            served = ours(known, model) | others
            turns = uvloop.run(measure(served, chosen))
        memory = serve_home.memory(known)
    print(
        f"{chosen.net}; medians of {chosen.rounds} turns of {chosen.seconds:g} s each; c2s writes its access log"
    )
    show(turns, served)
    for figure in figures(turns, served, ready, memory):
        print(figure)
    wrong = {key: dict(one.wrong) for key, found in turns.items() for one in found if one.wrong}
    if wrong:
        print(f"unexpected: {wrong}")
    return int(any(name.startswith("c2s") for name, _ in wrong))  # what a rival refuses is its figure


if __name__ == "__main__":
    sys.exit(main())
