"""A home of its own for each test, with a small dataset, jobs on it, and real worker processes."""

import contextlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import databases
import numpy as np
import psutil
from slow import slow

from app.core import claims, datasets, db, ids, jobs, settings, storage
from app.core.tables import Dataset, Event, Intake, Job, Model
from c2s import config, data, defaults, streams
from c2s.matrix import noise
from worker import runner

ROOT = Path(__file__).parents[1]
PATIENCE = 90.0  # seconds, on a machine with other things to do
LEASE = 30.0  # a busy machine must not lose one; who waits for its end takes a shorter one


def rows(count=300, classes=4, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, classes, count)
    centres = np.random.default_rng(99).normal(size=(classes, 6)) * 3
    x = (centres[truth] + rng.normal(size=(count, 6))).astype(np.float32)
    return data.from_arrays(
        x, noise.corrupt(truth, noise.symmetric(classes, 0.3), rng=streams.numpy(seed, "n"))
    )


def in_a_row(count=300, classes=4, *, apart=4.0, seed=0):
    """Classes 0, 1, 2, ... along a line, three labels in ten those of the next: a net parts them late."""
    rng, truth = np.random.default_rng(seed), np.arange(count) % classes
    x = rng.normal(size=(count, 4)) + apart * truth[:, None]
    return data.from_arrays(
        x.astype(np.float32), np.where(rng.random(count) < 0.3, (truth + 1) % classes, truth)
    )


def wanted(epochs=3, **more):
    stage = {"epochs": epochs, "batch_size": 32}
    raw = {"stage1": stage, "stage2": stage, "net": {"name": "mlp", "hidden": [16]}}
    return config.TrainConfig.parse(raw | {"transition": {"posteriors": "in-sample"}} | more)


class Home:
    """Settings, database and store of one test."""

    def __init__(self, folder, **more):
        quick = {
            "lease_seconds": LEASE,
            "relay_seconds": 0.2,
            "grace_seconds": 10,
            "threads": 1,
            "min_free_bytes": 0,
        }
        self.settings = settings.Settings(home=folder, **(quick | more))
        databases.prepare(self.settings.database)
        self.db = db.Database(self.settings.database)
        self.store = storage.Store(self.settings.store)
        self.workers = []

    @property
    def site(self):
        return runner.Site(self.settings, self.db, self.store)

    def dataset(self, found):
        dataset_id = ids.new("ds")
        data.save(found, self.store.dataset(dataset_id))
        row = Dataset(
            id=dataset_id, name="clusters", state=Intake.ready, options={}, bytes=1, source_sha256="0" * 64
        )
        row.sha256, row.shape, row.rows = found.digest(), found.shape.plain(), len(found)
        with self.db.begin() as tx:
            tx.add(row)
        return dataset_id

    def job(self, dataset_id, chosen=None, **more):
        found = data.load(self.store.dataset(dataset_id))
        resolved = defaults.resolve(chosen or wanted(), found.shape, len(found)).model_dump(mode="json")
        manifest = {
            "config": resolved,
            "threads": 1,
            "device": "cpu",
            "dataset": {"id": dataset_id, "name": "clusters"},
        }
        with self.db.begin() as tx:
            dataset = datasets.find(tx, dataset_id)
            return jobs.create(tx, dataset, task="train", config=resolved, manifest=manifest, **more).id

    def look(self, job_id):
        with self.db.read() as tx:
            return tx.get(Job, job_id)

    def events(self, job_id, kind=None):
        with self.db.read() as tx:
            found = tx.query(Event).filter(Event.job_id == job_id).order_by(Event.number).all()
        assert [event.number for event in found] == list(range(1, len(found) + 1))
        return [event.data for event in found if kind in (None, event.type)]

    def models(self, job_id):
        with self.db.read() as tx:
            return tx.query(Model).filter(Model.job_id == job_id).all()

    def claim(self, **more):
        with self.db.begin() as tx:
            return claims.claim(
                tx,
                owner="test",
                tasks=("train", "ingest", "predict"),
                lease=self.settings.lease_seconds,
                crash_limit=self.settings.crash_limit,
            )

    def do(self):
        """Claim and do one job in this process, as a pool process would."""
        since = time.monotonic()
        claim = self.claim()
        runner.run(self.site, claim, since=since)
        return self.look(claim.job_id)

    def wait(self, job_id, *states, seconds=PATIENCE):
        return until(lambda: (job := self.look(job_id)).state in states and job, seconds, lambda: self.said())

    def said(self):
        return "".join(path.read_text() for path in self.settings.root.glob("worker-*.log"))[-3000:]

    def start(self):
        """A real worker, whose trainings are slow."""
        told = self.settings.model_dump(mode="json", exclude_none=True)
        told = {
            f"C2S_{name.upper()}": value if isinstance(value, str) else json.dumps(value)
            for name, value in told.items()
            if value != ""
        }
        log = self.settings.root / f"worker-{len(self.workers)}.log"
        with log.open("wb") as file:
            self.workers.append(
                subprocess.Popen(
                    [sys.executable, "-m", "worker"],
                    cwd=ROOT,
                    env=os.environ | told | {"PYTHONPATH": str(slow(self.settings.root))},
                    stdin=subprocess.DEVNULL,
                    stdout=file,
                    stderr=file,
                    start_new_session=True,
                )
            )
        return self.workers[-1]

    def close(self):
        for worker in self.workers:
            below = descendants(worker.pid)
            worker.kill()
            worker.wait()
            until(lambda below=below: gone(below))
        self.db.close()


def until(look, seconds=PATIENCE, explain=lambda: ""):
    """Wait until `look` gives something true."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := look():
            return found
        time.sleep(0.02)
    raise TimeoutError(f"waited {seconds} s: {explain()}")


def descendants(pid):
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).children(recursive=True)
    return []


def trainers(pid):
    """The trainers below a process."""
    found = []
    for process in descendants(pid):
        with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            if "worker.trainer" in process.cmdline():
                found.append(process)
    return found


def gone(processes):
    return all(not process.is_running() or process.status() == psutil.STATUS_ZOMBIE for process in processes)
