"""What a child process is told by its environment."""

from pathlib import Path

import pytest

from worker import process

pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="asks /proc")


def told(tmp_path):
    child = process.Child("worker.trainer", {}, log_file=tmp_path / "log.txt", threads=2)
    try:
        lines = Path(f"/proc/{child.pid}/environ").read_text().split("\0")
    finally:
        child.end()
    return dict(line.split("=", 1) for line in lines if line)


def test_a_child_keeps_the_memory_that_each_of_its_steps_frees(tmp_path, monkeypatch):
    for name in process.GENTLE:
        monkeypatch.delenv(name, raising=False)
    found = told(tmp_path)
    assert int(found["MALLOC_TRIM_THRESHOLD_"]) == 2**30
    assert int(found["MALLOC_MMAP_THRESHOLD_"]) == 2**25
    assert (found["OMP_NUM_THREADS"], found["OMP_WAIT_POLICY"]) == ("2", "PASSIVE")


def test_what_the_user_says_of_memory_counts(tmp_path, monkeypatch):
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "4096")
    assert told(tmp_path)["MALLOC_TRIM_THRESHOLD_"] == "4096"


def test_a_child_is_told_no_secret_of_the_service(tmp_path, monkeypatch):
    for name in ("C2S_TOKEN", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "a-secret-that-no-child-needs")
    assert "a-secret-that-no-child-needs" not in told(tmp_path).values()
