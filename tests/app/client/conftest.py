"""Clients of a real service, one a file, whose jobs the tests end themselves or a real worker does."""

import os
import subprocess
import sys

import faulty_line
import httpx
import pytest

import c2s
from app import cli

TOKEN = "t" * 32


@pytest.fixture(scope="module")
def client(shared):
    with c2s.Client(shared.address, TOKEN) as found:
        yield found


@pytest.fixture(scope="module")
def worker(shared):
    """A worker of the shared service, as `c2s worker` starts it."""
    home = str(shared.settings.root)
    told = {"C2S_HOME": home, "C2S_TOKEN": TOKEN, "C2S_MIN_FREE_BYTES": "0", "C2S_RELAY_SECONDS": "0.2"}
    with (shared.settings.root / "worker.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "app", "worker"],
            env=os.environ | told | {"C2S_THREADS": "1"},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    yield process
    process.terminate()
    process.wait(60)


@pytest.fixture
def broken_line(shared):
    """A line to the service that can be made to fail."""
    found = faulty_line.Faulty(httpx.URL(shared.address).port)
    yield found
    found.close()


@pytest.fixture
def through(broken_line):
    """A client at the other end of that line, and how long it paused."""
    with c2s.Client(broken_line.url, TOKEN) as found:
        pauses = []
        found._service.wire._sleep = pauses.append
        yield found, pauses


@pytest.fixture(name="c2s")
def command(shared, monkeypatch, capsys):
    """Runs a command: its exit code, and what it printed to both sides."""
    monkeypatch.setenv("C2S_URL", shared.address)
    monkeypatch.setenv("C2S_TOKEN", TOKEN)

    def run(*words):
        code = cli.main([str(word) for word in words])
        return code, *capsys.readouterr()

    return run
