"""The fault matrix: every fault at every moment on both backings, with what became of it and the counters of truth.

`make faults` runs all of it; `--only F8` or `--short` a part, `--repeat 3` each case three times. "recover" is the time
from the fault (or its end, where it lasts) until the job is in other hands or has ended. The counters must all be 0:
L accepted jobs without an end, D models published twice, C unreadable models, P processes left behind, T temporary
files, U uncaught 5xx.
"""

import argparse
import contextlib
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import process_faults as own
import pytest
import server_faults as other
import servers
import store_faults as store
from faulty import Skipped
from service import ROOT, Service
from sqlalchemy.exc import SQLAlchemyError

from app.core.tables import ENDED, State

REDIS, POSTGRES, SQLITE = "redis", "postgres", "sqlite"
RECOVERY_SECONDS = 300.0


@dataclass(frozen=True)
class Case:
    number: str
    fault: str
    moment: str
    run: Callable
    needs: str | None = None  # a server without which the fault makes no sense
    short: bool = False  # part of `make test`, unless a test of the worker or of `c2s up` shows the same

    def name(self):
        return f"{self.number}-{self.fault}-{self.moment}"


CASES = [
    Case("F1", "API killed", "before the commit", own.api_killed_at_submit),
    Case("F1", "API killed", "after the commit", own.api_killed_at_submit, short=True),
    Case("F2", "API killed", "mid-upload", own.api_killed_mid_upload, short=True),
    Case("F3", "broker down", "at submit", other.broker_down_at_submit, REDIS),
    Case("F4", "broker frozen", "at relay", other.broker_frozen, REDIS),
    Case("F5", "broker killed", "job running", other.broker_killed, REDIS),
    Case("F6", "broker flushed", "jobs queued", other.broker_flushed, REDIS),
    Case("F7", "forged hints", "1000", other.hints_forged, REDIS),
    Case("F7", "visibility timeout", "job running", other.visibility_short, REDIS),
    *(
        Case("F8", "trainer killed", moment, own.trainer_killed)
        for moment in (
            "at start",
            "stage1",
            "transition",
            "stage2",
            "in a checkpoint write",
            "before publishing",
        )
    ),
    Case("F9", "celery child killed", "stage1", own.celery_child_killed),
    Case("F10", "worker killed", "stage1", own.worker_killed),
    Case("F11", "supervisor frozen", "past its lease", own.supervisor_frozen),
    *(
        Case("F12", "worker drained", moment, own.worker_drained)
        for moment in ("at start", "stage1", "stage2")
    ),
    Case("F13", "trainer always crashes", "at start", own.crash_loop),
    Case("F14", "trainer hangs", "stage1", own.trainer_hangs),
    *(Case("F15", "cancel", moment, own.cancelled, short=moment == "stage1") for moment in own.CANCELLED_IN),
    Case("F16", "database down", "short", other.database_down, POSTGRES, short=True),
    Case("F16", "database down", "beyond the lease", other.database_down, POSTGRES),
    *(
        Case(number, fault, f"publish, {how}", other.database_away_at_publish, needs)
        for number, fault, needs in (
            ("F16", "database down", POSTGRES),
            ("F17", "database locked", SQLITE),
        )
        for how in ("short", "beyond the lease")
    ),
    Case("F17", "database locked 5 s", "heartbeat", other.writer_holds_lock, SQLITE),
    Case("F18", "disk full", "upload", store.disk_full, short=True),
    Case("F18", "disk full", "checkpoint", store.disk_full),
    Case("F18", "disk full", "database", store.disk_full, SQLITE),
    Case("F18", "disk full", "everything, job running", store.disk_full),
    *(
        Case("F19", "store fails", moment, store.store_fails, short=moment == "EIO at publish")
        for moment in store.FAILURES
    ),
    Case("F19", "bytes changed", "load", store.bytes_changed),
    Case("F20", "checkpoint damaged", "bit flip", own.checkpoint_flipped),
    Case("F20", "checkpoint damaged", "truncated", own.checkpoint_flipped),
    Case("F21", "clock off", "3600", own.clock_wrong),
    Case("F21", "clock off", "-3600", own.clock_wrong),
    Case("F22", "memory short", "ingest", store.memory_short),
    Case("F22", "memory short", "training", store.memory_short),
    Case("F23", "API restarted", "predict", other.api_restarted_under_predict),
    Case("F24", "random mix", "1", own.random_mix),
    Case("Z7", "killed at a change", "6", store.killed_at_each_change),
    Case("", "stream cut", "at random", other.stream_cut, short=True),
    Case("", "stream cut", "API restarted", other.stream_cut),
    Case("", "one key twice", "at once", other.key_raced, short=True),
]


def short(*, on_servers):
    """The cases of `make test`, each on one of the backings in turn."""
    chosen = [case for case in CASES if case.short]
    return [
        case
        for place, case in enumerate(chosen)
        if (case.needs in (REDIS, POSTGRES) or place % 2 == 1) == on_servers
    ]


def counted(world, case):
    """The counters after one case; a machine that cannot show it skips the test."""
    try:
        return case.run(world, case.moment)
    except Skipped as exc:
        pytest.skip(str(exc))


class World:
    """What the services of a run stand on: SQLite and the queue in the worker, or PostgreSQL and Redis."""

    python_path = str(ROOT)
    reference = None  # of the standard job: the same on every backing

    def __init__(self, folder, *, redis=None, postgres=None, mix_seconds=30.0, mix_jobs=4):
        self._folder, self.redis, self.postgres = Path(folder), redis, postgres
        self.mix_seconds, self.mix_jobs = mix_seconds, mix_jobs
        self.server_faults = {} if redis is None else {"redis": self._restart_redis, "flush": redis.flush}
        self.said, self.recovery = "", None

    @property
    def name(self):
        return "embedded" if self.redis is None else "servers"

    def folder(self):
        return Path(tempfile.mkdtemp(dir=self._folder))

    def service(self, *, home=None, **options):
        if self.redis is not None:
            options = {"database": self.postgres.database(), "broker": self.redis.url} | options
        return Service(home or self.folder(), **options)

    def offers(self, case):
        servers_of = (SQLITE,) if self.redis is None else (REDIS, POSTGRES)
        return case.needs is None or case.needs in servers_of

    def say(self, text):
        self.said = text

    def struck(self, service, job):
        """From now, when the fault struck or ended, until the job is in other hands or has ended, is recovery."""
        began, before = time.monotonic(), service.row(job)

        def watch():
            while self.recovery is None and time.monotonic() - began < RECOVERY_SECONDS:
                with contextlib.suppress(SQLAlchemyError):  # the database may be what is away
                    row = service.row(job)
                    taken = row.state == State.running and row.fence > before.fence
                    if taken or row.state in ENDED:
                        self.recovery = time.monotonic() - began
                time.sleep(0.02)

        threading.Thread(target=watch, daemon=True).start()

    def run(self, case):
        """The outcome in words, the seconds it took and the counters."""
        self.said, self.recovery, began = "", None, time.monotonic()
        try:
            counters = case.run(self, case.moment)
            broken = {name: count for name, count in counters.items() if count}
            outcome = f"counters {broken}" if broken else "as promised"
        except Skipped as exc:
            counters, outcome = {}, f"SKIPPED: {exc}"
        except Exception as exc:  # one broken case must not hide the others
            counters, outcome = {}, f"BROKEN: {type(exc).__name__} {str(exc).splitlines()[:1]}"
        return outcome, time.monotonic() - began, counters

    def _restart_redis(self):
        self.redis.kill()
        self.redis.start()


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", action="append", help="a fault's number, such as F8")
    parser.add_argument("--moment", default="", help="a part of the moment's name, such as publish")
    parser.add_argument("--short", action="store_true", help="what `make test` runs")
    parser.add_argument("--backing", choices=["embedded", "servers"])
    parser.add_argument("--mix-seconds", type=float, default=60.0)
    parser.add_argument("--repeat", type=int, default=1, help="how often each case is run")
    chosen = parser.parse_args(argv)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # whoever ends us finds no service left behind
    total, failed = dict.fromkeys("LDCPTU", 0), 0
    with tempfile.TemporaryDirectory() as folder, servers.Redis() as redis, servers.Postgres() as postgres:
        worlds = [
            World(folder, mix_seconds=chosen.mix_seconds),
            World(folder, redis=redis, postgres=postgres, mix_seconds=chosen.mix_seconds),
        ]
        for world in worlds:
            if chosen.backing in (None, world.name):
                failed += _table(world, chosen, total)
    print("\nzero-tolerance counters: " + "  ".join(f"{name} = {count}" for name, count in total.items()))
    return failed


def _table(world, chosen, total):
    print(
        f"\n{world.name}\n{'':4} {'fault':<24}{'moment':<26}{'recover':>8}{'total':>8}  outcome", flush=True
    )
    failed = 0
    for case in (case for case in CASES for _ in range(chosen.repeat)):
        wanted = (not chosen.only or case.number in chosen.only) and (case.short or not chosen.short)
        if not wanted or chosen.moment not in case.moment or not world.offers(case):
            continue
        outcome, seconds, counters = world.run(case)
        failed += outcome != "as promised" and not outcome.startswith("SKIPPED")
        for name, count in counters.items():
            total[name] += count
        said = f" ({world.said})" if world.said else ""
        recovery = "-" if world.recovery is None else f"{world.recovery:.1f}"
        print(
            f"{case.number:<4} {case.fault:<24}{case.moment:<26}{recovery:>8}{seconds:>8.1f}  {outcome}{said}",
            flush=True,
        )
    return failed


if __name__ == "__main__":
    sys.exit(main())
