"""The small parts of a worker."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from workers import ROOT, rows, wanted

from app.core import relay, settings
from worker import attempt, bell, drain, messages, slots

MEMORY = settings.Settings()
REDIS = settings.Settings(broker_url="redis://127.0.0.1:1/0", slots=3)


def fresh(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    return done.stdout.strip()


def in_child(answer):
    """What a forked process finds."""
    read, write = os.pipe()
    if (pid := os.fork()) == 0:
        try:
            os.write(write, str(answer()).encode())
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    said = os.read(read, 100).decode()
    os.close(read)
    os.close(write)
    return said


def test_slots_are_counted_across_processes_and_freed_by_death():
    def taken():
        return slots._take(2)

    with slots.slot(2) as first:
        assert first
        assert in_child(taken) == "1"
        assert in_child(taken) == "1"  # the one before it is dead
        assert in_child(lambda: slots._take(1)) == "None"
    assert in_child(taken) == "0"


def test_the_drain_flag_set_in_the_parent_is_seen_by_children(monkeypatch):
    import mmap

    monkeypatch.setattr(drain, "_flag", mmap.mmap(-1, 1))
    assert not drain.wanted()
    drain.begin()
    assert drain.wanted()
    assert in_child(drain.wanted) == "True"


def test_sigterm_during_a_job_is_heeded_first_and_obeyed_afterwards():
    heard = []
    before = signal.signal(signal.SIGTERM, lambda *_: heard.append(drain.wanted()))
    try:
        with drain.heeding():
            os.kill(os.getpid(), signal.SIGTERM)
            assert drain.wanted()
            assert heard == []
        assert heard == [False]
    finally:
        signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize(
    "module", ["worker.__main__", "worker.tasks", "worker.bell", "worker.runner", "worker.reader"]
)
def test_no_process_but_the_trainer_loads_torch(module):
    assert (
        fresh(f"import sys, {module}; print('torch' in sys.modules, 'fastapi' in sys.modules)")
        == "False False"
    )


def test_a_trainer_loads_neither_sql_nor_torch_before_it_can_tell():
    heavy = "{'torch', 'sqlalchemy', 'numpy', 'celery'} & set(sys.modules)"
    assert fresh(f"import sys, worker.trainer; print({heavy} or 'none')") == "none"


def test_celery_acknowledges_early_and_reads_json_alone():
    from worker import celery_app

    for chosen in (MEMORY, REDIS):
        options = celery_app.options(chosen)
        assert options["task_acks_late"] is False
        assert options["accept_content"] == ["json"]
        assert options["worker_enable_remote_control"] is False
        assert options["worker_concurrency"] == chosen.slots + 1
    assert celery_app.options(MEMORY)["worker_prefetch_multiplier"] == 0
    assert celery_app.options(REDIS)["worker_disable_prefetch"] is True
    assert celery_app.options(REDIS)["broker_transport_options"]["socket_connect_timeout"] == 2
    known = set(celery_app.app.conf.keys())
    assert set(celery_app.options(MEMORY)) | set(celery_app.options(REDIS)) <= known
    from worker import tasks

    assert tasks.work.name == relay.TASK


def test_lines_that_are_no_messages_are_ignored():
    for line in (
        b"",
        b"hello\n",
        b"[]\n",
        b'{"type": "trained", "more": 1}\n',
        b'{"type": "unknown"}',
        b"\xff\n",
    ):
        assert messages.parse(line) is None
    assert messages.parse(b'{"type": "trained"}\n') == messages.Trained()
    assert messages.parse(b'{"type": "error", "code": "odd", "message": "", "phase": null}') is None


def test_batches_are_halved_down_to_a_pair():
    chosen = wanted(1)
    assert attempt.shrunk(chosen, 0) == chosen
    assert attempt.shrunk(chosen, 1).stage2.batch_size == 16
    assert attempt.shrunk(chosen, 9).stage1.batch_size == 2


def test_a_harmed_model_of_an_earlier_attempt_is_made_again(tmp_path):
    from c2s import pipeline

    chosen, run = wanted(1), tmp_path / "run"
    made = pipeline.run(rows(), chosen, run)
    attempt.prepare(run, made.config)
    assert (run / "model").exists()
    weights = run / "model" / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x7f")
    attempt.prepare(run, made.config)
    assert not (run / "model").exists()
    assert (run / "stage1").exists()
    attempt.prepare(run, attempt.shrunk(made.config, 1))
    assert not run.exists()


def test_a_fork_finds_no_open_connection_of_the_relay(make_home):
    home = make_home()
    ringing = bell.Bell(home.settings)
    assert ringing.look() == 0

    def open_files():
        return sum(
            "sqlite3" in str(path.readlink()) for path in Path("/proc/self/fd").iterdir() if path.exists()
        )

    assert open_files() > 0
    assert in_child(open_files) == "0"
    assert ringing.look() == 0  # and goes on in the parent
    ringing._connections.close()
