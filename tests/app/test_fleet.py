"""Several API processes behind one port: their figures add up, whichever of them is asked."""

import collections
import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import psutil
import pytest
from ports import free_port
from prometheus_client.mmap_dict import MmapedDict
from prometheus_client.parser import text_string_to_metric_families

ROOT = Path(__file__).parents[2]
TOKEN = "a-token-for-tests-0123456789"  # noqa: S105 - of a service on loopback that lives for a test
PROCESSES = 2


class Fleet:
    """`c2s serve --processes 2` on a database of its own."""

    def __init__(self, home, database):
        self.port = free_port()
        (home / "tmp").mkdir()
        self.temporary = home / "tmp"
        known = {
            "C2S_HOME": str(home),
            "C2S_DATABASE_URL": database,
            "C2S_TOKEN": TOKEN,
            "C2S_PORT": str(self.port),
            "C2S_GRACE_SECONDS": "5",
            "PYTHONPATH": str(ROOT),
            "TMPDIR": str(self.temporary),
        }
        self.log = home / "log"
        with self.log.open("wb") as log:
            command = [sys.executable, "-m", "app", "serve", "--processes", str(PROCESSES)]
            self.process = subprocess.Popen(command, env=os.environ | known, cwd=home, stdout=log, stderr=log)
        self.until(lambda: self.get("/readyz") and len(self.members()) == PROCESSES)

    def get(self, path):
        """Ask on a connection of its own, so that any of the processes may answer."""
        headers = {"Authorization": f"Bearer {TOKEN}", "Connection": "close"}
        with contextlib.suppress(httpx.TransportError):
            answer = httpx.get(f"http://127.0.0.1:{self.port}{path}", headers=headers, timeout=30)
            return answer.text if answer.status_code == 200 else None
        return None

    def members(self):
        found = psutil.Process(self.process.pid).children()
        return [one for one in found if one.status() != psutil.STATUS_ZOMBIE and "app.serve" in one.cmdline()]

    def folder(self):
        (found,) = self.temporary.glob("c2s-metrics-*")
        return found

    def by_process(self):
        """How often each process answered /version, from its own file."""
        counts = collections.Counter()
        for path in self.folder().glob("counter_*.db"):
            if not path.stat().st_size:  # is being made
                continue
            for key, value, *_ in MmapedDict.read_all_values_from_file(str(path)):
                counts[path.stem] += value * ("/version" in key)
        return [count for count in counts.values() if count]

    def total(self):
        families = text_string_to_metric_families(self.get("/metrics"))
        samples = [sample for family in families for sample in family.samples]
        return {
            name: [one.value for one in samples if one.name == name and one.labels.get("route") in routes]
            for name, routes in (("c2s_requests_total", ["/version"]), ("c2s_database_up", [None]))
        }

    def until(self, condition, seconds=60):
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, self.log.read_text()[-3000:]
            assert self.process.poll() is None, self.log.read_text()[-3000:]
            time.sleep(0.1)


@pytest.fixture
def fleet(tmp_path, postgres_server):
    found = Fleet(tmp_path, postgres_server.database())
    yield found
    if found.process.poll() is None:
        found.process.send_signal(signal.SIGTERM)
        found.process.wait(30)


@pytest.mark.timeout(240)
def test_counts_add_up_whichever_process_is_asked_and_outlive_one_that_is_killed(fleet):
    asked = 0
    while len(fleet.by_process()) < PROCESSES or asked < 40:
        assert fleet.get("/version")
        asked += 1
        assert asked < 2000
    for _ in range(8):
        assert fleet.total() == {"c2s_requests_total": [asked], "c2s_database_up": [1]}
    victim = fleet.members()[0]
    victim.kill()
    fleet.until(
        lambda: len(fleet.members()) == PROCESSES and victim.pid not in [p.pid for p in fleet.members()]
    )
    fleet.until(lambda: fleet.get("/readyz"))
    assert fleet.total()["c2s_requests_total"] == [asked]
    folder = fleet.folder()
    assert folder.stat().st_mode & 0o777 == 0o700
    fleet.process.send_signal(signal.SIGTERM)
    assert fleet.process.wait(30) == 0
    assert not folder.exists()


def test_several_processes_need_postgresql(tmp_path):
    env = {name: value for name, value in os.environ.items() if not name.startswith("C2S_")}
    env |= {"C2S_HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "app", "serve", "--processes", "2"]
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert "PostgreSQL" in done.stderr
