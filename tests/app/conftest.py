"""A real server in a thread, on an SQLite file and a folder of its own, and models of every kind, trained once."""

import contextlib
import io
import json
import shutil
import threading
import time
import zipfile
from dataclasses import dataclass
from typing import Any

import databases
import httpx
import numpy as np
import PIL.Image
import pytest
import uvicorn

from app import main, protocol
from app.core import access, claims, db, ids, jobs, storage
from app.core.settings import Settings
from app.core.tables import Model
from app.intake import reading
from app.intake.options import Options

TOKEN = "t" * 32
PATIENCE = 60.0
OPTIONS = {"text": {"kind": "text"}}  # so few words look like categories


@dataclass
class Service:
    """A running service and a client that may use it."""

    settings: Settings
    address: str
    http: httpx.Client
    database: db.Database
    store: storage.Store
    app: Any

    def upload(self, body, **query):
        answer = self.http.post("/datasets", content=body, params=query)
        assert answer.status_code == 201, answer.text
        return answer.json()

    def job(self, dataset_id, **body):
        answer = self.http.post("/jobs", json={"dataset_id": dataset_id, **body})
        assert answer.status_code == 202, answer.text
        return answer.json()

    def project(self, name="tenant", **quotas):
        answer = self.http.post("/projects", json={"name": name, "quotas": quotas})
        assert answer.status_code == 201, answer.text
        return answer.json()["id"]

    def key(self, *scopes, **more):
        """A new key, as the answer that makes it shows it."""
        body = {"name": "test", "scopes": list(scopes or ("read", "write", "predict")), **more}
        answer = self.http.post("/keys", json=body)
        assert answer.status_code == 201, answer.text
        return answer.json()

    def client(self, secret=None, **headers):
        """A client with another key, or with none."""
        given = {"Authorization": f"Bearer {secret}"} if secret else {}
        return httpx.Client(base_url=self.address, headers=given | headers, timeout=PATIENCE)

    def claim(self, owner="test"):
        """Take the next job as a worker would."""
        with self.database.begin() as tx:
            return claims.claim(
                tx, owner=owner, tasks=("train", "ingest", "predict"), lease=600, crash_limit=3
            )

    def beat(self, held, *news, progress=None):
        with self.database.begin() as tx:
            claims.beat(tx, held, lease=600, news=news, progress=progress)

    def end(self, held, error=None, message="for the test"):
        """Let a job fail, or stop as its user asked."""
        with self.database.begin() as tx:
            if error is not None:
                claims.fail(tx, held, jobs.error(error, message, phase="stage1"))
            else:
                claims.cancel(tx, held)

    def publish(self, held, folder, card):
        """End a job with a model that was trained elsewhere."""
        target = self.store.attempt(held.job_id, held.fence) / "run" / "model"
        target.mkdir(parents=True)
        for file in folder.iterdir():
            (target / file.name).write_bytes(file.read_bytes())
        beside = target.with_name("result")
        shutil.copytree(folder.with_name("result"), beside)
        summary = {"kind": card["kind"], "classes": [str(label) for label in card["labels"]]}
        model = Model(
            id=ids.new("mdl"),
            job_id=held.job_id,
            name=held.name or "model",
            folder=self.store.key(target),
            sha256=card["sha256"],
            card=summary,
        )
        with self.database.begin() as tx:
            claims.succeed(tx, held, {"model_id": model.id, "labels": self.store.key(beside)}, model)
        return model.id


@contextlib.contextmanager
def running(home, **chosen):
    settings = Settings(**{"home": home, "token": TOKEN, "min_free_bytes": 0, **chosen})
    databases.prepare(settings.database)
    app = main.create_app(settings)
    quiet = {"log_config": None, "access_log": False, "server_header": False}
    config = uvicorn.Config(app, port=0, http=protocol.Guarded, timeout_graceful_shutdown=1, **quiet)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    deadline = time.monotonic() + PATIENCE
    while not server.started:
        assert thread.is_alive()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    address = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    headers = {"Authorization": f"Bearer {access.token(settings)}"}
    database, store = db.Database(settings.database), storage.Store(settings.store)
    try:
        with httpx.Client(base_url=address, headers=headers, timeout=PATIENCE) as http:
            yield Service(settings, address, http, database, store, app)
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
        database.close()


@pytest.fixture(scope="session")
def run_service():
    return running


@pytest.fixture
def service(tmp_path):
    with running(tmp_path) as found:
        yield found


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """One service for the tests of a file that do not disturb each other."""
    with running(tmp_path_factory.mktemp("home")) as found:
        yield found


def table(rows=120, classes="ab"):
    lines = [f"{i % 7},{(i * 3) % 5},{'xyz'[i % 3]},{classes[i % len(classes)]}" for i in range(rows)]
    return "\n".join(["a,b,c,y", *lines])


@pytest.fixture(scope="session")
def csv_file():
    return table()


def picture(number, size=8, mode="L", form="PNG"):
    """A picture that is bright on one side or the other."""
    image = PIL.Image.new(mode, (size, size), 0 if mode == "L" else (0, 0, 0))
    image.paste(200 if mode == "L" else (200, 90, 10), (0, 0, size // 2 + number % 2, size))
    blob = io.BytesIO()
    image.save(blob, form)
    return blob.getvalue()


def source(kind):
    """An upload of this kind, with three classes or two."""
    rng = np.random.default_rng(0)
    if kind == "tabular":
        return table(120, "abc")
    if kind == "text":
        words = ("good fine nice", "bad poor worse")
        lines = [{"text": f"{words[i % 2]} thing number {i % 5}", "y": "np"[i % 2]} for i in range(80)]
        return "\n".join(json.dumps(line) for line in lines)
    blob = io.BytesIO()
    if kind == "vectors":
        y = np.arange(90) % 3
        np.savez(blob, x=rng.normal(size=(90, 4)).astype(np.float32) + 3 * y[:, None], y=y)
        return blob.getvalue()
    with zipfile.ZipFile(blob, "w") as archive:
        for i in range(60):
            archive.writestr(f"{'left' if i % 2 else 'right'}/{i}.png", picture(i))
    return blob.getvalue()


@pytest.fixture(scope="session")
def sources():
    return source


@pytest.fixture(scope="session")
def pictures():
    return picture


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """Model folders and their cards by kind, each read from a file and trained in seconds."""
    made = {}

    def train(kind):
        if kind not in made:
            from c2s import config, data, pipeline

            home = tmp_path_factory.mktemp(kind)
            body = source(kind)
            (home / "source").write_bytes(body if isinstance(body, bytes) else body.encode())
            reading.read(home / "source", home / "data", Options(**OPTIONS.get(kind, {})))
            quick = {"epochs": 1, "batch_size": 32}
            estimate = {"estimator": "anchors", "posteriors": "in-sample"}
            chosen = config.TrainConfig.parse({"stage1": quick, "stage2": quick, "transition": estimate})
            result = pipeline.run(data.load(home / "data"), chosen, home / "run")
            made[kind] = result.folder, result.card
        return made[kind]

    return train


@pytest.fixture(scope="module")
def published(shared, trained):
    """A model of a kind in the shared service: its id and its job's; a fresh one for tests that harm it."""
    made = {}

    def find(kind, *, fresh=False):
        if fresh:
            return publish(kind)
        if kind not in made:
            made[kind] = publish(kind)
        return made[kind]

    def publish(kind):
        dataset = shared.upload(source(kind), name=kind, **OPTIONS.get(kind, {}))
        job = shared.job(dataset["id"], name=f"{kind} model")
        held = shared.claim()
        while held.job_id != job["id"]:
            shared.end(held)
            held = shared.claim()
        return shared.publish(held, *trained(kind)), job["id"]

    return find
