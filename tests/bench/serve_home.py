"""Our own service with one published LeNet, as a deployment runs it: `python -m app.serve`."""

import contextlib
import io
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
import PIL.Image
import psutil
import service

from app.core import claims, ids
from app.core.tables import Model
from app.intake import reading
from app.intake.options import Options
from c2s import config, data, pipeline

SIDE, CLASSES, IMAGES = 28, 10, 400
STARTS = 3


def digits(seed=0):
    """Pictures with a bright stripe where the class says."""
    rng = np.random.default_rng(seed)
    y = np.arange(IMAGES) % CLASSES
    x = rng.integers(0, 100, (IMAGES, SIDE, SIDE), dtype=np.uint8)
    for picture, label in zip(x, y, strict=True):
        picture[2 * label + 4 : 2 * label + 7] = 230
    return x, y


def npz():
    file, (x, y) = io.BytesIO(), digits()
    np.savez(file, x=x, y=y)
    return file.getvalue()


def train(folder, net="lenet"):
    """A LeNet, trained for a moment; (its folder, its card)."""
    (folder / "source").write_bytes(npz())
    reading.read(folder / "source", folder / "data", Options())
    quick = {"epochs": 1, "batch_size": 64}
    estimate = {"estimator": "anchors", "posteriors": "in-sample"}
    chosen = config.TrainConfig.parse({"net": net, "stage1": quick, "stage2": quick, "transition": estimate})
    result = pipeline.run(data.load(folder / "data"), chosen, folder / "run")
    return result.folder, result.card


def publish(known, folder, card):
    """End a job of the service with a model that was trained here; the model's id."""
    known.submit(known.dataset(npz()), net="lenet")
    with known.database.begin() as tx:
        held = claims.claim(tx, owner="bench", tasks=("train",), lease=600, crash_limit=3)
    target = known.store.attempt(held.job_id, held.fence) / "run" / "model"
    target.mkdir(parents=True)
    for path in folder.iterdir():
        (target / path.name).write_bytes(path.read_bytes())
    names = {"kind": card["kind"], "classes": [str(label) for label in card["labels"]]}
    key = known.store.key(target)
    model = Model(
        id=ids.new("mdl"), job_id=held.job_id, name="digits", folder=key, sha256=card["sha256"], card=names
    )
    with known.database.begin() as tx:
        claims.succeed(tx, held, {"model_id": model.id}, model)
    return model.id


@contextlib.contextmanager
def running(net):
    """(the service, its model's id, the model's folder)."""
    with tempfile.TemporaryDirectory(prefix="c2s-bench-") as name:
        folder = Path(name)
        trained, card = train(folder, net)
        home = folder / "home"
        home.mkdir()
        with service.Service(home, workers=0) as known:
            yield known, publish(known, trained, card), trained


def starts(known):
    """Seconds from the start of the process to the first /readyz that says yes, each time anew."""
    found = []
    for _ in range(STARTS):
        known.api.terminate()
        known.api.wait(30)
        began = time.monotonic()
        known.start_api()
        known.until(lambda: known.client.get("/readyz").status_code == 200, what="the API is ready")
        found.append(time.monotonic() - began)
    return statistics.median(found)


def memory(known):
    """Resident megabytes of the API process."""
    return psutil.Process(known.api.pid).memory_info().rss / 1e6


def picture():
    return digits(1)[0][0]


def png():
    file = io.BytesIO()
    PIL.Image.fromarray(picture()).save(file, "PNG")
    return file.getvalue()


def npy():
    file = io.BytesIO()
    np.save(file, picture()[None])
    return file.getvalue()
