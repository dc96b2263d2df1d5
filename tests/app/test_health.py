"""What a container asks itself; see tests/worker/test_health.py for the worker's half."""

import http.server
import os
import subprocess
import sys
import threading

import pytest

from app import health


@pytest.fixture
def answering():
    """A server whose answer to everything can be chosen."""
    code = [200]

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(code[0])
            self.end_headers()

        def log_message(self, *_):
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_address[1], code
    server.shutdown()
    server.server_close()


def test_an_api_that_is_ready_is_healthy_and_one_that_is_not_is_not(answering):
    port, code = answering
    assert health.ready(port)
    code[0] = 503
    assert not health.ready(port)


def test_an_api_that_does_not_listen_is_not_healthy():
    assert not health.ready(1)


def test_the_check_is_cheap():
    code = "import sys, app.health; print(*({'pydantic', 'fastapi', 'sqlalchemy'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == ""


def check(*variables, **env):
    clean = {key: one for key, one in os.environ.items() if not key.startswith("C2S_")}
    command = [sys.executable, "-m", "app", "check", *variables]
    return subprocess.run(command, env=clean | env, capture_output=True, text=True)


def test_the_check_of_the_settings_names_every_weak_secret():
    strong = "9f86d081884c7d659a2feaa0c55ad015"
    assert check("ONE", "TWO", ONE=strong, TWO=strong).returncode == 0
    done = check("ONE", "TWO", "THREE", ONE="changeme-0b93cc17e5", TWO=strong)
    assert done.returncode == 2
    assert "ONE contains a word" in done.stderr
    assert "THREE has fewer than 16" in done.stderr
    assert "TWO" not in done.stderr
    assert "0b93cc17e5" not in done.stderr


def test_the_check_of_the_settings_refuses_what_the_service_would_refuse():
    done = check(C2S_BROKER_URL="redis://:redis@redis:6379/0")
    assert done.returncode == 2
    assert "C2S_BROKER_URL" in done.stderr
