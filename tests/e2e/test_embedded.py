"""`c2s up` as a person runs it: one command, one address, Ctrl-C, and a job that goes on after the next start."""

import contextlib
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time

import httpx
import pytest
from ports import free_port
from service import ROOT, command_line, ours, rows, spec
from slow import slow

pytestmark = pytest.mark.timeout(240)


class Up:
    """A running `c2s up` on its own home."""

    def __init__(self, home, **more):
        self.home = home
        known = {"C2S_HOME": str(home), "C2S_PORT": str(free_port()), "PYTHONPATH": f"{slow(home)}:{ROOT}"}
        short = {
            "C2S_LEASE_SECONDS": "4",
            "C2S_GRACE_SECONDS": "5",
            "C2S_RELAY_SECONDS": "0.3",
            "C2S_THREADS": "1",
        }
        clean = {name: value for name, value in os.environ.items() if not name.startswith("C2S_")}
        self.env = clean | known | short | more
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "app", "up"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=self.env,
            cwd=self.home,
            start_new_session=True,
        )
        said = ""
        while "Ctrl-C" not in said:
            line = self.process.stdout.readline()
            assert line, f"c2s up ended: {said}"
            said += line
        address, token = re.search(r"(http://[^/]+)/\?token=(\S+)", said).groups()
        self.said, self.token = said, token
        self.client = httpx.Client(base_url=address, headers={"Authorization": f"Bearer {token}"}, timeout=30)

    def command(self, *arguments):
        return subprocess.run(
            [sys.executable, "-m", "app", *arguments],
            env=self.env,
            cwd=self.home,
            capture_output=True,
            text=True,
        )

    def processes(self, needle=""):
        return [one for one in ours(self.home) if needle in command_line(one)]

    def stop(self):
        self.client.close()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            self.process.wait(60)
        self.process.stdout.close()


@pytest.fixture
def up(tmp_path):
    service = Up(tmp_path)
    yield service
    service.stop()
    for process in service.processes():
        process.kill()


def until(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, condition
        time.sleep(0.1)


def submit(client, **more):
    dataset = client.post("/datasets?name=blobs", content=rows()).json()["id"]
    return client.post("/jobs", json=spec(dataset, **more)).json()["id"]


def state(client, job):
    with contextlib.suppress(httpx.TransportError):
        return client.get(f"/jobs/{job}").json()["state"]
    return None


def test_ctrl_c_stops_everything_and_the_job_goes_on_after_the_next_start(up):
    job = submit(up.client, epochs=(80, 5))
    until(lambda: up.client.get(f"/jobs/{job}/checkpoints").json()["data"])
    up.stop()
    assert up.process.returncode == 0
    assert up.processes() == []
    token = up.token
    up.start()
    assert up.token == token
    until(lambda: state(up.client, job) == "succeeded", 120)
    assert up.client.get(f"/jobs/{job}").json()["attempts"] == 2


def test_an_open_stream_does_not_hold_the_service_back(up):
    job = submit(up.client, epochs=(2000, 2000))
    headers = {"Accept": "text/event-stream"}
    with up.client.stream("GET", f"/jobs/{job}/events", headers=headers) as stream:
        lines = stream.iter_lines()
        assert next(lines)
        up.process.send_signal(signal.SIGINT)
        for _ in lines:  # until the service ends it
            pass
    assert up.process.wait(60) == 0
    assert "graceful shutdown exceeded" not in (up.home / "logs" / "api.log").read_text()


def test_what_dies_is_restarted(up):
    (api,) = up.processes("app.serve")
    api.kill()
    until(lambda: up.processes("app.serve") and up.processes("app.serve")[0].pid != api.pid)
    until(lambda: up.client.get("/readyz").status_code == 200)
    for worker in up.processes("-m worker"):
        worker.kill()
    job = submit(up.client, epochs=(2, 2))
    until(lambda: state(up.client, job) == "succeeded", 120)


def test_processes_killed_while_they_wait_for_work_stop_no_job(up):
    main = next(one for one in up.processes("-m worker") if one.ppid() == up.process.pid)
    until(lambda: len(main.children()) == 2)
    for idle in main.children():
        idle.kill()
    job = submit(up.client, epochs=(2, 2))
    until(lambda: state(up.client, job) == "succeeded", 200)
    assert "pool_broken" in (up.home / "logs" / "worker.log").read_text()


def test_nothing_outlives_a_supervisor_that_is_killed(up):
    submit(up.client, epochs=(2000, 2000))
    until(lambda: up.processes("worker.trainer"))
    up.process.kill()
    up.process.wait()
    until(lambda: up.processes() == [], 30)


def test_a_second_start_is_refused_and_down_stops_the_first(up):
    second = up.command("up")
    assert second.returncode == 2
    assert "runs already at http://127.0.0.1:" in second.stderr
    assert up.command("down").stdout == "c2s has stopped\n"
    assert up.process.wait(30) == 0
    again = up.command("down")
    assert (again.returncode, again.stdout) == (3, "")
    assert again.stderr == f"c2s: c2s is not running in {up.home}\n"


def test_a_worker_with_nothing_to_do_is_listed_until_it_ends(up):
    def listed():
        return up.client.get("/workers").json()["data"]

    until(lambda: [one["state"] for one in listed()] == ["idle"])
    (first,) = listed()
    (process,) = [one for one in up.processes("-m worker --parent") if one.pid == first["process"]]
    process.kill()
    until(lambda: [one["id"] for one in listed()] not in ([], [first["id"]]))  # started again
    assert [one["state"] for one in listed()] == ["idle"], "the dead one is not told of"
    assert up.command("down").returncode == 0
    with contextlib.closing(sqlite3.connect(up.home / "c2s.sqlite3")) as database:
        assert database.execute("SELECT count(*) FROM workers").fetchall() == [(0,)]


def test_commands_with_another_home_are_told_so_and_with_the_printed_line_they_find_the_service(up, tmp_path):
    up.env["C2S_HOME"], home = str(tmp_path / "elsewhere"), up.home
    found = up.command("down")
    assert found.returncode == 3
    assert (
        f"not running in {tmp_path / 'elsewhere'}, but one with another home answers at http://"
        in found.stderr
    )
    assert up.process.poll() is None
    up.env["C2S_URL"] = str(up.client.base_url).rstrip("/")
    refused = up.command("job", "ls")
    assert refused.returncode == 6
    assert "C2S_HOME names a service's folder" in refused.stderr
    del up.env["C2S_URL"]
    line = re.search(r"export C2S_HOME=(\S+)", up.said).group(1)
    assert line == str(home)
    up.env["C2S_HOME"] = line
    assert up.command("job", "ls").returncode == 0


def test_the_doctor_finds_and_removes_orphans(up):
    orphan = up.home / "store" / "jobs" / "job_01m7jrgr2n2h0rwgx8e4rkrarj"
    orphan.mkdir()
    (orphan / "log.txt").write_text("left behind")
    assert "0 pieces of litter" in up.command("doctor").stdout  # young: it may be in the making
    assert "1 pieces of litter" in up.command("doctor", "--all-ages").stdout
    assert "(removed)" in up.command("doctor", "--all-ages", "--fix").stdout
    assert not orphan.exists()


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("C2S_HOST", "0.0.0.0", "C2S_TOKEN must be set"),  # noqa: S104 - refused, which is the point
        ("C2S_TOKEN", "short", "at least 24 characters"),
        ("C2S_PORT", "99999", "C2S_PORT"),
    ],
)
def test_weak_settings_refuse_to_start(tmp_path, name, value, said):
    env = {key: one for key, one in os.environ.items() if not key.startswith("C2S_")}
    env |= {"C2S_HOME": str(tmp_path), "PYTHONPATH": str(ROOT), name: value}
    done = subprocess.run(
        [sys.executable, "-m", "app", "up"], env=env, capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 2
    assert said in done.stderr


def test_a_job_whose_worker_is_killed_is_taken_over_at_once_however_long_its_lease(tmp_path):
    up = Up(tmp_path, C2S_LEASE_SECONDS="3600")
    try:
        job = submit(up.client, epochs=(80, 5))
        until(lambda: up.client.get(f"/jobs/{job}/checkpoints").json()["data"], 120)
        for worker in up.processes("-m worker"):
            worker.kill()
        until(lambda: up.client.get(f"/jobs/{job}").json()["attempts"] == 2, 120)
        until(lambda: state(up.client, job) == "succeeded", 180)
        assert up.client.get(f"/jobs/{job}").json()["attempts"] == 2
    finally:
        up.stop()
        for process in up.processes():
            process.kill()
