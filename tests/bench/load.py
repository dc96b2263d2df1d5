"""The service under load, on loopback: a table of what was aimed at and what this machine reached.

Generator and service share the cores. A missed figure is a figure; only what no load excuses (an unexpected status,
a reset, an exception) makes the exit code 1.
"""

import argparse
import os
import platform
import sys
import traceback

import load_crowd
import load_idle
import load_jobs
import load_uploads
import psutil
import uvloop
from load_figures import Asked

RUNS = {
    "L1": load_jobs.l1,
    "L2": load_jobs.l2,
    "L5": load_jobs.l5,
    "L6": load_uploads.l6,
    "L7": load_crowd.l7,
    "L8": load_crowd.l8,
    "L9": load_idle.l9,
    "L10": load_idle.l10,
    "U1": load_uploads.u1,
}


def options(argv):
    parser = argparse.ArgumentParser(prog="load.py")
    parser.add_argument("--only", nargs="+", choices=RUNS, default=list(RUNS), metavar="RUN")
    parser.add_argument("--seconds", type=float, default=60.0, help="of L1 and L2; bounds L7 and L8 as well")
    parser.add_argument("--idle-seconds", type=float, default=60.0, help="of L9; the figure is meant for 600")
    return parser.parse_args(argv)


def machine():
    memory = psutil.virtual_memory().total / 1e9
    system = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"
    busy = f"load average {os.getloadavg()[0]:.1f} before the first run"
    return f"{os.cpu_count()} cores shared with the generator, {memory:.0f} GB, {system}, {busy}"


async def show(run, asked):
    """Print the figures of a run; whether one of them must not be."""
    wrong = False
    async for figure in run(asked):
        print(figure, flush=True)
        if figure.unexpected:
            wrong = True
            print(f"     unexpected: {figure.unexpected}", flush=True)
    return wrong


def main(argv=None):
    chosen = options(argv)
    asked = Asked(chosen.seconds, chosen.idle_seconds)
    print(machine())
    wrong = False
    for name in chosen.only:
        try:
            wrong |= uvloop.run(show(RUNS[name], asked))
        except Exception:  # the other runs are still worth their figures
            wrong = True
            print(f"{name:<4} broke", flush=True)
            traceback.print_exc()
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
