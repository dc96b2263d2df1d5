"""The stack as its user starts it, built and run by a real engine, and then beaten. `make stack` shows it at work.

The tests stand in the order in which they run: they share one deployment.
"""

import os
import subprocess
import sys
import time

import engine
import httpx
import pytest

pytestmark = [
    pytest.mark.skipif(engine.missing() is not None, reason=f"no container engine: {engine.missing()}"),
    pytest.mark.timeout(3600),
]
OURS = ("api", "worker")
SERVERS = (*OURS, "postgres", "redis")


@pytest.fixture(scope="module")
def stack(tmp_path_factory):
    made = engine.Stack(engine.copy(tmp_path_factory.mktemp("c2s")), f"c2s-test-{os.getpid()}", "stack-test")
    made.script("make-env")
    began = time.monotonic()
    made.compose("build")
    built = time.monotonic() - began
    try:
        seconds = made.up()
        sizes = {name: size(f"c2s-{name}:stack-test") for name in OURS}
        sys.stdout.write(f"\nbuilt in {built:.0f} s, up in {seconds:.0f} s; megabytes: {sizes}\n")
        yield made
    finally:
        made.down()
        made.remove_images()


def size(image):
    return round(int(engine.docker("image", "inspect", "--format", "{{.Size}}", image)) / 1e6)


@pytest.fixture(scope="module")
def client(stack):
    with stack.client() as made:
        yield made


@pytest.fixture(scope="module")
def data(client):
    return engine.dataset(client)


@pytest.fixture(scope="module")
def undisturbed(client, data):
    """The weights that every disturbed run of the same job must end with."""
    done = engine.ended(client, engine.submit(client, data))
    assert done["state"] == "succeeded", done
    return engine.weights(client, done)


def test_a_generated_env_is_all_it_needs(stack, client):
    ready = client.get("/readyz").json()
    assert ready["status"] == "ok"
    assert {check["state"] for check in ready["checks"]} == {"ok"}
    for name in SERVERS:
        assert stack.inspect(name)["State"]["Health"]["Status"] == "healthy"
    for name in ("preflight", "migrate"):
        assert stack.inspect(name)["State"]["ExitCode"] == 0


def test_strangers_are_refused(stack):
    assert httpx.get(f"http://127.0.0.1:{stack.port}/jobs").status_code == 401


@pytest.mark.parametrize("name", SERVERS)
def test_a_container_has_no_privileges(stack, name):
    code, said = stack.run(name, "cat", "/proc/1/status")
    facts = dict(line.split(":\t", 1) for line in said.splitlines() if ":\t" in line)
    assert code == 0
    assert set(facts["Uid"].split()) & {"0"} == set()
    assert int(facts["CapEff"], 16) == int(facts["CapBnd"], 16) == 0
    assert facts["NoNewPrivs"] == "1"
    assert facts["Seccomp"] == "2"


@pytest.mark.parametrize("name", SERVERS)
def test_the_root_file_system_cannot_be_written(stack, name):
    for place in ("/planted", "/usr/bin/planted", "/etc/planted"):
        code, said = stack.run(name, "sh", "-c", f"echo x > {place}")
        assert code != 0
        assert "Read-only file system" in said


@pytest.mark.parametrize("name", OURS)
def test_there_is_no_compiler_and_no_installer_beside_our_packages(stack, name):
    for tool in ("gcc", "cc", "g++", "c++", "clang", "ld", "make"):
        assert stack.run(name, "sh", "-c", f"command -v {tool}")[0] != 0, tool
    assert stack.run(name, "python", "-c", "import pip")[0] != 0


def test_only_the_api_can_be_reached_from_outside(stack):
    for name in SERVERS:
        published = stack.inspect(name)["HostConfig"]["PortBindings"] or {}
        assert set(published) == ({"8321/tcp"} if name == "api" else set())
    assert stack.inspect("api")["HostConfig"]["PortBindings"]["8321/tcp"][0]["HostIp"] == "127.0.0.1"
    network = engine.docker("network", "inspect", "--format", "{{.Internal}}", f"{stack.name}_backend")
    assert network == "true"


@pytest.mark.parametrize("name", SERVERS)
def test_a_container_has_limits(stack, name):
    limits = stack.inspect(name)["HostConfig"]
    assert limits["Memory"] > 0
    assert limits["NanoCpus"] > 0
    assert limits["PidsLimit"] > 0


def test_redis_answers_nobody_without_the_password(stack):
    assert "NOAUTH" in stack.run("redis", "env", "-u", "REDISCLI_AUTH", "redis-cli", "ping")[1]
    assert stack.run("redis", "redis-cli", "config", "get", "appendonly")[1].split() == ["appendonly", "yes"]
    assert stack.secrets["REDIS_PASSWORD"] not in stack.run("redis", "cat", "/proc/1/cmdline")[1]


def test_missing_secrets_refuse_to_start(stack):
    file = stack.folder / "docker" / "compose.yaml"
    for name in ("C2S_TOKEN", "POSTGRES_PASSWORD", "REDIS_PASSWORD"):
        done = subprocess.run(
            ["docker", "compose", "-f", file, "up"],
            env=stack.env | {name: ""},
            capture_output=True,
            text=True,
        )
        assert done.returncode != 0
        assert "docker/make-env" in done.stderr


@pytest.mark.parametrize("name", ["C2S_TOKEN", "POSTGRES_PASSWORD", "REDIS_PASSWORD"])
def test_weak_secrets_refuse_to_start_before_any_server_does(stack, name):
    other = engine.Stack(stack.folder, f"{stack.name}-weak", stack.version)
    try:
        with pytest.raises(AssertionError):
            other.compose("up", "--detach", **{name: "changeme-changeme-changeme"})
        assert other.inspect("preflight")["State"]["ExitCode"] == 2
        assert "everybody tries first" in other.logs()
        assert "changeme" not in other.logs()
        assert not other.inspect("postgres")["State"]["Running"]
        assert not other.inspect("redis")["State"]["Running"]
    finally:
        other.down()


def test_the_demo_runs_through_it(stack):
    env = stack.env | {"C2S_TOKEN": stack.secrets["C2S_TOKEN"]}
    command = [sys.executable, "-m", "app", "demo", "--url", f"http://127.0.0.1:{stack.port}"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, cwd=engine.ROOT, timeout=3600)
    assert done.returncode == 0, done.stdout + done.stderr + stack.logs()
    sys.stdout.write(done.stdout[-900:])
    assert "Accuracy on clean test digits" in done.stdout


@pytest.mark.parametrize("victim", SERVERS)
def test_a_job_ends_right_whatever_container_is_killed(stack, client, data, undisturbed, victim):
    job_id = engine.submit(client, data)
    engine.running(client, job_id)
    stack.kill(victim)
    done = engine.ended(client, job_id)
    assert done["state"] == "succeeded", f"{done}\n{stack.logs()}"
    assert done["attempts"] == (2 if victim == "worker" else 1)
    assert engine.weights(client, done) == undisturbed
    models = client.get("/models").json()["data"]
    assert sum(model["job_id"] == job_id for model in models) == 1


def test_a_stopped_worker_gives_its_job_back_in_time(stack, client, data, undisturbed):
    job_id = engine.submit(client, data)
    engine.running(client, job_id)
    began = time.monotonic()
    stack.compose("stop", "worker")
    assert time.monotonic() - began < 30
    assert (
        stack.inspect("worker")["State"]["ExitCode"] == 0
    )  # left by itself, not killed at the end of the grace
    assert engine.job(client, job_id)["state"] == "queued"
    stack.compose("start", "worker")
    done = engine.ended(client, job_id)
    assert done["state"] == "succeeded"
    assert engine.weights(client, done) == undisturbed


def test_more_workers_take_more_jobs(stack, client, data):
    stack.up(C2S_WORKERS="2")
    jobs = [engine.submit(client, data) for _ in range(2)]
    engine.running(client, jobs[0], epochs=1)
    engine.running(client, jobs[1], epochs=1)
    assert all(engine.ended(client, job_id)["state"] == "succeeded" for job_id in jobs)
    stack.up(C2S_WORKERS="1")
    assert len(stack.ids("worker")) == 1


def test_tls_by_the_proxy(stack, data, tmp_path):
    engine.stand_in("caddy:2.10.2")
    stack.compose("--profile", "tls", "build", "caddy")
    stack.up("--profile", "tls")
    code, root = stack.run("caddy", "cat", "/data/caddy/pki/authorities/local/root.crt")
    assert code == 0, root
    (tmp_path / "root.crt").write_text(root)
    import ssl

    trust = ssl.create_default_context(cafile=str(tmp_path / "root.crt"))
    with stack.client(f"https://localhost:{stack.https}", verify=trust) as client:
        answer = client.get("/jobs")
        assert answer.status_code == 200
        assert "max-age" in answer.headers["strict-transport-security"]
        assert client.get("/livez").status_code == 200
        job_id = engine.submit(client, data, epochs=20)
        headers = {"Accept": "text/event-stream"}
        with client.stream("GET", f"/jobs/{job_id}/events", headers=headers) as events:
            assert any(line == "event: end" for line in events.iter_lines())
    plain = httpx.get(f"http://localhost:{stack.http}/jobs")
    assert plain.status_code == 308
    assert plain.headers["location"].startswith("https://localhost")
    code, said = stack.run("caddy", "cat", "/proc/1/status")
    assert "Uid:\t10001" in said
    stack.compose("--profile", "tls", "rm", "--stop", "--force", "caddy")


def test_prometheus_finds_the_api_and_every_worker(stack):
    engine.stand_in("prom/prometheus:v3.5.0")
    # Grafana has no stand-in: its part is judged by its files in test_images.py
    stack.compose("--profile", "monitoring", "up", "--detach", "--wait", "prometheus")

    def jobs():
        url = "http://127.0.0.1:9090/api/v1/targets?state=active"
        import json

        targets = json.loads(stack.run("prometheus", "wget", "-q", "-O", "-", url)[1])["data"][
            "activeTargets"
        ]
        return {target["labels"]["job"] for target in targets} == {"api", "worker"}

    engine.until(jobs, 60, "both jobs among the targets")
    stack.compose("--profile", "monitoring", "rm", "--stop", "--force", "prometheus")


def test_the_bucket_is_made_and_guarded(stack):
    engine.stand_in("chrislusf/seaweedfs:4.48")
    stack.up("--profile", "s3")
    assert stack.inspect("bucket")["State"]["ExitCode"] == 0
    code = "import urllib.request as u; u.urlopen('http://seaweedfs:8333/c2s/x', timeout=5)"
    assert "403" in stack.run("worker", "python", "-c", code)[1]  # there, and not for strangers
    stack.compose("--profile", "s3", "rm", "--stop", "--force", "seaweedfs", "bucket")


def test_a_backup_brings_every_prediction_back(stack, client, data, tmp_path):
    done = engine.ended(client, engine.submit(client, data, epochs=20))
    body = {"model": done["model_id"], "inputs": [[0.1 * k] * 6 for k in range(20)]}
    before = client.post("/predict", json=body).json()
    stack.script("backup", str(tmp_path / "backup"))
    stack.down()
    stack.script("restore", str(tmp_path / "backup"))
    assert engine.patient(lambda: client.post("/predict", json=body)).json() == before
    again = engine.ended(client, engine.submit(client, data, epochs=20))
    assert engine.weights(client, again) == engine.weights(client, done)
