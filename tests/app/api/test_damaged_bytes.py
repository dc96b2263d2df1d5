"""Stored bytes that are gone or cut off are told as 503 with a code and a time, wherever they are met."""

import time

import pytest

from app.core.storage import PREDICTIONS
from worker import runner


def told(answer, code="unavailable"):
    assert answer.status_code == 503, answer.text
    assert int(answer.headers["Retry-After"]) > 0
    assert answer.json()["code"] == code


@pytest.fixture
def harmed():
    """Does its worst to a file, and puts it back."""
    kept = {}

    def harm(path, how):
        kept.setdefault(path, path.read_bytes())
        path.unlink(missing_ok=True)
        if how == "cut":
            path.write_bytes(kept[path][:50])

    yield harm
    for path, whole in kept.items():
        path.write_bytes(whole)


@pytest.fixture
def stored(shared, published):
    """A model's id, its job's address, and the folders of the two."""
    model, job = published("vectors")
    folder = next((shared.store.root / "jobs" / job).glob("*/run/model"))
    return model, f"/jobs/{job}", folder, folder.with_name("result")


@pytest.mark.parametrize("how", ["cut", "gone"])
def test_a_model_whose_card_is_damaged_is_told_so_everywhere(shared, stored, harmed, how):
    model, job, folder, _ = stored
    harmed(folder / "card.json", how)
    asked = [shared.http.get(path) for path in (f"{job}/transition", f"/ui{job}", f"/ui/models/{model}")]
    asked += [shared.http.get(f"/ui/compare?job={job[6:]}"), shared.http.get(f"/models/{model}/export")]
    asked += [shared.http.get("/transitions/diff", params={"a": job[6:], "b": job[6:]})]
    asked += [shared.http.post("/predictions", params={"model": model}, content=b"x")]
    for answer in asked:
        told(answer, "model_damaged")


@pytest.mark.parametrize("how", ["cut", "gone"])
def test_judged_labels_that_are_damaged_are_told_so_everywhere(shared, stored, harmed, how):
    _, job, _, result = stored
    harmed(result / "labels.parquet", how)
    for path in ("issues", "report", "corrected", "gold", "decisions"):
        told(shared.http.get(f"{job}/{path}"))
    told(shared.http.get(f"/ui{job}/review"))
    told(shared.http.post(f"{job}/decisions", json={"decisions": [{"id": "0", "decision": "keep"}]}))
    told(shared.http.post(f"{job}/corrected-dataset", json={"correct_at": 0.5}))


@pytest.mark.parametrize("how", ["cut", "gone"])
def test_a_damaged_report_is_told_so_on_pages_too(shared, stored, harmed, how):
    _, job, _, result = stored
    harmed(result / "report.json", how)
    for path in (f"{job}/report", f"{job}/gold", f"/ui{job}"):
        told(shared.http.get(path))


def test_damaged_rows_held_out_are_told_so(shared, stored, harmed):
    _, job, _, result = stored
    harmed(result / "held.parquet", "cut")
    told(shared.http.get(f"{job}/gold"))


@pytest.mark.parametrize("how", ["cut", "gone"])
def test_damaged_rows_of_a_dataset_are_told_so_on_pages_too(shared, stored, harmed, how):
    _, job, _, _ = stored
    dataset = shared.http.get(job).json()["dataset_id"]
    harmed(shared.store.dataset(dataset) / "x.npy", how)
    for path in (f"/ui/datasets/{dataset}", f"/ui{job}/review"):
        told(shared.http.get(path))
    decided = {"decisions": [{"id": "0", "decision": "relabel", "label": "2"}]}
    assert shared.http.post(f"{job}/decisions", json=decided).status_code == 200
    told(shared.http.post(f"{job}/corrected-dataset", json={}))


@pytest.mark.parametrize("how", ["cut", "gone"])
def test_damaged_results_of_predictions_are_told_so(shared, stored, harmed, how):
    dataset = shared.http.get(stored[1]).json()["dataset_id"]
    job = shared.http.post("/predictions", json={"model": stored[0], "dataset_id": dataset}).json()["id"]
    since, held = time.monotonic(), shared.claim()
    runner.run(runner.Site(shared.settings, shared.database, shared.store), held, since=since)
    harmed(shared.store.attempt(job, held.fence) / "run" / "result" / PREDICTIONS, how)
    told(shared.http.get(f"/predictions/{job}/results?format=csv"))
