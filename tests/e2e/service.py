"""A real service for tests: API and worker processes on real servers, which a test may kill, freeze and restart.

Run as a deployment is (`python -m app.serve`, `python -m worker`) or as `c2s up`, with leases of seconds.
"""

import contextlib
import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import databases
import httpx
import numpy as np
import psutil
from ports import free_port
from slow import slow
from sqlalchemy import func, select
from sqlalchemy.exc import DBAPIError

from app import doctor
from app.core import claims, db, events
from app.core.storage import Store
from app.core.tables import ENDED, Job, Model

TOKEN = "a-token-for-tests-0123456789"  # noqa: S105 - of a service on loopback that lives for a test
LEASE = 4.0
ROOT = Path(__file__).parents[2]
ENDED_NAMES = {str(state) for state in ENDED}


def rows(count=600, classes=3, seed=0):
    """An NPZ file with blobs of which 30 % carry a wrong label."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, classes, count)
    x = (rng.normal(size=(count, 6)) + 3 * np.eye(classes, 6)[truth]).astype(np.float32)
    given = np.where(rng.random(count) < 0.3, rng.integers(0, classes, count), truth)
    file = io.BytesIO()
    np.savez(file, x=x, y=given)
    return file.getvalue()


def spec(dataset_id, *, epochs=(60, 60), **more):
    """A job of a few seconds, resumable every second."""
    stages = [{"epochs": count, "batch_size": 32} for count in epochs]
    settled = {"method": "forward", "net": "mlp", "seed": 1, "transition": {"posteriors": "in-sample"}}
    return {"dataset_id": dataset_id, **settled, "stage1": stages[0], "stage2": stages[1], **more}


def command_line(process):
    """What a process was started as; nothing of one that died since it was listed."""
    try:
        return " ".join(process.cmdline())
    except psutil.NoSuchProcess:  # or a zombie
        return ""


def ours(home):
    """The living processes that were started in a service's home; trainings inherit the folder, not the settings."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            living = process.status() != psutil.STATUS_ZOMBIE and process.cmdline()
            if living and process.pid != os.getpid() and Path(process.cwd()).is_relative_to(home):
                found.append(process)
    return found


class Service:
    """The processes, a client, and the counters that must stay zero; `slowly` makes trainings wait each epoch."""

    def __init__(self, folder, *, database=None, broker="memory://", workers=1, slowly=False, **env):
        self.home, self.port = Path(folder), free_port()
        self.database_url = database or f"sqlite:///{self.home / 'c2s.sqlite3'}"
        self.workers_wanted = workers
        self.env = os.environ | {
            "C2S_HOME": str(self.home),
            "C2S_DATABASE_URL": self.database_url,
            "C2S_BROKER_URL": broker,
            "C2S_TOKEN": TOKEN,
            "C2S_PORT": str(self.port),
            "C2S_LEASE_SECONDS": str(LEASE),
            "C2S_GRACE_SECONDS": "5",
            "C2S_RELAY_SECONDS": "0.3",
            "C2S_THREADS": "1",
            "C2S_MIN_FREE_BYTES": "0",
            "C2S_BALLAST_BYTES": "0",
            "C2S_LOG_LEVEL": "info",
            "PYTHONPATH": f"{slow(self.home)}:{ROOT}" if slowly else str(ROOT),
        }
        self.env |= {name: str(value) for name, value in env.items()}
        self.api, self.workers = None, []
        self.unexpected = []  # 5xx answers other than 503 and 507
        self.client = httpx.Client(
            base_url=f"http://127.0.0.1:{self.port}",
            headers={"Authorization": f"Bearer {TOKEN}"},
            timeout=60,
            event_hooks={"response": [self._note]},
        )
        databases.prepare(self.database_url)
        self.database = db.Database(self.database_url)
        self.store = Store(Path(self.env.get("C2S_STORE_URL") or self.home / "store"))

    def _note(self, response):
        if response.status_code >= 500 and response.status_code not in (503, 507):
            self.unexpected.append((response.request.method, response.request.url.path, response.status_code))

    # --- processes

    def _spawn(self, module, **env):
        with (self.home / f"{module}.log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", module],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.home,
                env=self.env | env,
                start_new_session=True,
            )

    def start_api(self):
        self.api = self._spawn("app.serve")
        self.until(lambda: self.answers() or self.api.poll() is not None, what="the API answers")
        assert self.api.poll() is None, f"the API ended: {self.tail()}"

    def start_worker(self, module="worker", **env):
        self.workers.append(self._spawn(module, **env))
        return self.workers[-1]

    def __enter__(self):
        self.start_api()
        for _ in range(self.workers_wanted):
            self.start_worker()
        return self

    def __exit__(self, *_):
        for process in [self.api, *self.workers]:
            if process and process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.terminate()
        for process in [self.api, *self.workers]:
            if process:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(20)
                if process.poll() is None:
                    process.kill()
                    process.wait()
        for stray in self.processes():
            stray.kill()
        self.client.close()
        self.database.close()

    def answers(self):
        with contextlib.suppress(httpx.TransportError):
            return self.client.get("/livez").status_code == 200
        return False

    def processes(self, *needles):
        """Every process of this service; needles are parts of the command line."""
        return [one for one in ours(self.home) if all(needle in command_line(one) for needle in needles)]

    def trainers(self):
        return self.processes("worker.trainer")

    def trainer(self):
        self.until(self.trainers, what="a training process")
        return self.trainers()[0]

    # --- requests

    def dataset(self, blob=None, **params):
        answer = self.client.post("/datasets", params={"name": "blobs", **params}, content=blob or rows())
        assert answer.status_code == 201, answer.text
        return answer.json()["id"]

    def submit(self, dataset_id, *, key=None, **more):
        headers = {"Idempotency-Key": key} if key else {}
        answer = self.client.post("/jobs", json=spec(dataset_id, **more), headers=headers)
        assert answer.status_code == 202, answer.text
        return answer.json()["id"]

    def job(self, job_id):
        return self.client.get(f"/jobs/{job_id}").json()

    def wait(self, job_id, states=ENDED_NAMES, seconds=180):
        self.until(lambda: self.row(job_id).state in states, seconds, what=f"{job_id} in {sorted(states)}")
        return self.row(job_id)

    def row(self, job_id):
        try:
            with self.database.read() as tx:
                return tx.get(Job, job_id)
        except DBAPIError as exc:
            if not exc.connection_invalidated:
                raise
        with (
            self.database.read() as tx
        ):  # the server was restarted: whoever meets a dead connection asks again
            return tx.get(Job, job_id)

    def reached(self, job_id, phase, seconds=120):
        """Wait until the job is in a phase."""
        order = ["loading", "stage1", "transition", "stage2", "evaluation", "packaging"]

        def there():
            now = self.row(job_id).phase
            return now in order and order.index(now) >= order.index(phase)

        self.until(there, seconds, what=f"{job_id} in {phase}")

    def checkpoints(self, job_id):
        with self.database.read() as tx:
            return len(events.of_type(tx, job_id, "checkpoint"))

    def until(self, condition, seconds=120, what="a condition"):
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                raise AssertionError(f"{what}: not within {seconds} s\n{self.tail()}")
            time.sleep(0.05)

    def tail(self, lines=15):
        logs = {
            path.name: path.read_text(errors="replace").splitlines()[-lines:]
            for path in self.home.glob("*.log")
        }
        return "\n".join(f"--- {name}\n" + "\n".join(text) for name, text in logs.items())

    def weights(self, job_id):
        """The hash of the published weights."""
        with self.database.read() as tx:
            return tx.scalar(select(Model.sha256).where(Model.job_id == job_id))

    def parts(self):
        """Folders in the making; others may vanish while we look."""
        return [name for name in self.folders() if name.endswith(".part")]

    def folders(self):
        return [name for _, names, _ in os.walk(self.store.root) for name in names]

    # --- counters

    def counters(self):
        """L lost jobs, D models published twice, C unreadable models, P stray processes, T litter, U uncaught 5xx."""
        with self.database.read() as tx:
            lost = tx.scalar(select(func.count()).select_from(Job).where(Job.state.not_in(ENDED)))
            doubled = tx.execute(select(Model.job_id).group_by(Model.job_id).having(func.count() > 1)).all()
        self.until(lambda: not self.trainers(), 15, what="no training left")
        self.until(lambda: not self.parts(), 15, what="no folder in the making")
        found = doctor.examine(self.database, self.store, young=0, deep=True)
        return {
            "L": lost,
            "D": len(doubled),
            "C": sum(finding.kind == "loss" for finding in found),
            "P": len(self.trainers()),
            "T": len(list((self.store.root / "tmp").iterdir())) + len(self.parts()),
            "U": len(self.unexpected),
        }

    def waiting(self):
        with self.database.read() as tx:
            return claims.waiting(tx)
