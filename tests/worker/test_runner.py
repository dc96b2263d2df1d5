"""One job from claim to finish in this process, with a real child; faults come from what the child finds."""

import contextlib
import os
import resource
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from slow import SLOW
from workers import gone, rows, trainers, until, wanted

from app.core import claims, jobs
from app.core.tables import Job
from c2s import cards
from worker import drain

GIB = 2**30


@pytest.fixture
def small(home):
    return home.dataset(rows())


def in_background(home):
    done = threading.Thread(
        target=home.do
    )  # not the main thread: its end would kill the child, but it lives long
    done.start()
    child = until(lambda: trainers(os.getpid()))
    return done, child[0]


def test_a_broken_import_reaches_the_row_with_the_trace(home, small, sabotage):
    home.job(small)
    sabotage(torch="raise ImportError('libgone.so.1: cannot open shared object file')")
    job = home.do()
    assert (job.state, job.error["code"], job.error["phase"]) == ("failed", "internal", "loading")
    assert "libgone.so.1" in job.error["message"]
    assert any("Traceback" in line for line in job.error["log"])
    assert job.error["retriable"]
    assert home.store.attempts(job.id) == [1]


def test_a_job_that_always_kills_its_process_fails_at_the_limit(home, small, sabotage):
    job_id = home.job(small)
    sabotage(torch="import os; os.kill(os.getpid(), 9)")
    for crashes in (1, 2):
        job = home.do()
        assert (job.state, job.crashes) == ("queued", crashes)
    job = home.do()
    assert (job.state, job.error["code"]) == ("failed", "worker_lost")
    assert "SIGKILL" in job.error["message"]
    assert home.claim() is None
    assert home.events(job_id, "end") == [{"state": "failed", "error": job.error}]


def test_a_child_that_ends_without_a_word_has_crashed(home, small, sabotage):
    home.job(small)
    sabotage(start="import os, sys\nif 'worker.trainer' in sys.orig_argv: os._exit(0)")
    job = home.do()
    assert (job.state, job.crashes) == ("queued", 1)


def test_stray_prints_do_not_reach_the_channel(home, small, sabotage):
    home.job(small)
    sabotage(torch="print('{\"type\": \"trained\"}', flush=True)\nraise RuntimeError('the end')")
    job = home.do()
    assert (job.state, job.error["code"]) == ("failed", "internal")
    assert job.error["log"][0] == '{"type": "trained"}'


def test_a_silent_training_is_killed_and_tried_again(make_home, sabotage):
    home = make_home(stall_seconds=1, crash_limit=2)
    home.job(home.dataset(rows()))
    sabotage(torch="import time; time.sleep(600)")
    job = home.do()
    assert (job.state, job.crashes) == ("queued", 1)
    job = home.do()
    assert (job.state, job.error["code"]) == ("failed", "time_limit")
    assert "no sign of life" in job.error["message"]


def test_a_job_that_takes_too_long_fails(make_home, sabotage):
    home = make_home(job_seconds=1)
    home.job(home.dataset(rows()))
    sabotage(torch="import time; time.sleep(600)")
    job = home.do()
    assert (job.state, job.error["code"]) == ("failed", "time_limit")


def test_a_child_that_ignores_the_wish_to_stop_is_killed_after_the_grace(make_home, sabotage):
    home = make_home(grace_seconds=0.5)
    job_id = home.job(home.dataset(rows()))
    deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
    sabotage(torch=deaf)
    done, trainer = in_background(home)
    with home.db.begin() as tx:
        jobs.request_cancel(tx, job_id)
    done.join(30)
    assert gone([trainer])
    assert home.look(job_id).state == "cancelled"
    assert home.store.attempts(job_id) == []


def test_a_drain_gives_a_job_back_unharmed(home, small, sabotage, monkeypatch):
    job_id = home.job(small)
    sabotage(torch="import time; time.sleep(600)")
    done, trainer = in_background(home)
    monkeypatch.setattr(drain, "_told", True)
    done.join(30)
    job = home.look(job_id)
    assert (job.state, job.preemptions, job.crashes, job.attempts) == ("queued", 1, 0, 1)
    assert gone([trainer])


def test_a_claim_that_another_took_is_left_alone(home, small, sabotage):
    job_id = home.job(small)
    sabotage(torch="import time; time.sleep(600)")
    done, trainer = in_background(home)
    with home.db.begin() as tx:
        tx.get(Job, job_id).lease_until = 0.0
        thief = claims.claim(tx, owner="thief", tasks=("train",), lease=60, crash_limit=3)
    done.join(30)
    assert gone([trainer])
    job = home.look(job_id)
    assert (job.state, job.owner, job.fence) == ("running", "thief", thief.fence)


@pytest.mark.parametrize("guards", ["both", "the pipe alone"])
def test_a_trainer_dies_with_its_supervisor(home, sabotage, guards):
    deaf = "" if guards == "both" else "import app.core.guard as g; g.die_with_parent = lambda parent: None"
    sabotage(start=deaf, torch="import time; time.sleep(600)")
    code = (
        "import os, sys, time; from pathlib import Path; from worker import process\n"
        "child = process.Child('worker.trainer', {}, log_file=Path(sys.argv[1]), threads=1)\n"
        "print(child.pid, flush=True); time.sleep(600)"
    )
    log = home.settings.root / "log.txt"
    parent = subprocess.Popen([sys.executable, "-c", code, str(log)], stdout=subprocess.PIPE, text=True)
    pid = int(parent.stdout.readline())
    time.sleep(0.5)
    parent.kill()
    parent.wait()
    parent.stdout.close()

    def dead():
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        return False

    until(dead)


def test_a_job_without_its_dataset_fails_as_such(home, small):
    home.job(small)
    (home.store.dataset(small) / "x.npy").unlink()
    job = home.do()
    assert (job.state, job.error["code"], job.error["phase"]) == ("failed", "invalid_dataset", "loading")
    assert not job.error["retriable"]


def test_want_of_memory_halves_the_batch_once_and_then_fails(home, small, sabotage):
    job_id = home.job(small, wanted(net={"name": "mlp", "hidden": [65536, 65536]}))
    limit = f"import resource\nresource.setrlimit(resource.RLIMIT_AS, ({8 * GIB}, {8 * GIB}))"
    sabotage(start=limit)
    job = home.do()
    assert (job.state, job.shrink, job.crashes) == ("queued", 1, 0)
    job = home.do()
    assert (job.state, job.error["code"]) == ("failed", "out_of_memory")
    assert home.events(job_id, "state")[-1]["attempt"] == 2
    assert resource.getrlimit(resource.RLIMIT_AS)[0] != 8 * GIB


@pytest.mark.parametrize(
    "words",
    ["terminate called after throwing 'std::bad_alloc'", "OpenBLAS error: Memory allocation still failed"],
)
def test_a_child_that_native_code_aborts_for_want_of_memory_has_starved(home, small, sabotage, words):
    home.job(small)
    sabotage(torch=f"import os, sys\nprint({words!r}, file=sys.stderr, flush=True)\nos.abort()")
    job = home.do()
    assert (job.state, job.shrink, job.crashes) == ("queued", 1, 0)


# the first look at the clock that a trainer takes finds no memory; where exactly a real limit strikes is luck
HUNGRY_ONCE = """
import pathlib, sys, time
done = pathlib.Path({marker!r})
if "worker.trainer" in sys.orig_argv and not done.exists():
    def starve():
        done.touch()
        raise MemoryError
    time.perf_counter = starve
"""


def test_a_starved_job_goes_on_with_half_the_batch_in_a_fresh_run(home, small, sabotage):
    job_id = home.job(small, wanted(2))
    sabotage(start=HUNGRY_ONCE.format(marker=str(home.settings.root / "done")))
    first = home.store.attempt(job_id, 0) / "run"  # what a full batch left
    (first / "run").mkdir(parents=True)
    (first / "run" / "run.json").write_text('{"config": {}}')
    assert home.do().shrink == 1
    job = home.do()
    assert job.state == "succeeded", job.error
    card = cards.verify(home.store.at(home.models(job_id)[0].folder))
    assert card["config"]["stage1"]["batch_size"] == card["config"]["stage2"]["batch_size"] == 16


def test_a_full_disk_fails_the_job_and_keeps_the_log(home, small, sabotage):
    home.job(small)
    sabotage(start="import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))")
    job = home.do()
    assert (job.state, job.error["code"], job.error["phase"]) == ("failed", "storage_full", "stage1")
    assert job.error["retriable"]


FAILING = """
import builtins, errno, io, os, sys
if "worker.trainer" in sys.orig_argv:
    real = io.open
    def failing(path, *more, **named):
        if "meta.json" in str(path) and os.access({marker!r}, os.F_OK):
            os.unlink({marker!r}) if {once} else None
            raise OSError(errno.EIO, "told by the disk")
        return real(path, *more, **named)
    io.open = builtins.open = failing
"""


def test_a_disk_that_fails_once_costs_an_attempt(home, small, sabotage, tmp_path):
    job_id = home.job(small)
    (tmp_path / "broken").touch()
    sabotage(start=FAILING.format(marker=str(tmp_path / "broken"), once=True))
    job = home.do()
    assert (job.state, job.crashes) == ("queued", 1)
    assert home.do().state == "succeeded"
    assert len(home.models(job_id)) == 1


def test_a_disk_that_keeps_failing_fails_the_job_within_bounds(home, small, sabotage, tmp_path):
    home.job(small)
    (tmp_path / "broken").touch()
    sabotage(start=FAILING.format(marker=str(tmp_path / "broken"), once=False))
    states = [home.do().state for _ in range(home.settings.crash_limit)]
    assert states == ["queued", "queued", "failed"]


@pytest.fixture
def little_memory():
    """A control group that may hold 100 MB: the file through which a process joins it."""
    for root, limit in (("memory/", "memory.limit_in_bytes"), ("", "memory.max")):
        group = Path("/sys/fs/cgroup") / f"{root}c2s-test-{os.getpid()}"
        with contextlib.suppress(OSError):
            group.mkdir()
        if (group / limit).exists():
            (group / limit).write_text(str(100 * 2**20))
            yield group / "cgroup.procs"
            until(lambda members=group / "cgroup.procs": not members.read_text())
            group.rmdir()
            return
    pytest.skip("control groups cannot be made here: needs root and a writable /sys/fs/cgroup")


STARVING = """import os, sys
if "worker.trainer" in sys.orig_argv:
    open({group!r}, "w").write(str(os.getpid()))
"""


def test_a_kill_by_the_kernel_for_want_of_memory_is_told_as_such(home, small, sabotage, little_memory):
    job_id = home.job(small)  # loading torch alone takes more
    sabotage(start=STARVING.format(group=str(little_memory)))
    assert (home.do().state, home.look(job_id).shrink) == ("queued", 1)
    job = home.do()
    assert (job.state, job.error["code"]) == ("failed", "out_of_memory")
    assert "the kernel ended" in job.error["message"]


def test_what_stage_1_found_reaches_the_row_before_the_end(home, small, sabotage):
    sabotage(start=SLOW)  # else stage 2 may end before the next write is due
    stages = {"stage2": {"epochs": 30, "batch_size": 32}}
    job_id = home.job(small, wanted(**stages))
    done, _ = in_background(home)
    early = until(lambda: (found := home.look(job_id).result) and found.get("estimate"))
    assert len(early["transition"]["matrix"]) == len(early["labels"]) == 4
    done.join()
    assert home.look(job_id).result["model_id"]
