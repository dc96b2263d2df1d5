"""What people know of labels is not overruled: gold rows, and rows decided on in the review before."""

import csv

import numpy as np
import pytest

from c2s import config, data, pipeline

QUICK = {"epochs": 1, "batch_size": 32}


@pytest.fixture
def trained(service, tmp_path):
    """Train on a dataset of the service as a worker would, and publish; the path of the job."""

    def train(dataset_id):
        job = service.job(dataset_id)["id"]
        estimate = {"estimator": "confident-joint", "posteriors": "in-sample"}
        chosen = config.TrainConfig.parse({"stage1": QUICK, "stage2": QUICK, "transition": estimate})
        found = pipeline.run(data.load(service.store.dataset(dataset_id)), chosen, tmp_path / job)
        service.publish(service.claim(), found.folder, found.card)
        return f"/jobs/{job}"

    return train


def table(gold):
    """120 rows of three classes, a fifth of the labels wrong; the first `gold` have their true label beside it."""
    rng = np.random.default_rng(0)
    clean = np.arange(120) % 3
    y = np.where(rng.random(120) < 0.2, (clean + 1) % 3, clean)
    lines = [
        f"{a:.3f},{b:.3f},{'klm'[y[i]]},{'klm'[clean[i]] if i < gold else ''}"
        for i, (a, b) in enumerate(rng.normal(size=(120, 2)) + 3 * np.stack([clean == 0, clean == 1], axis=1))
    ]
    return "\n".join(["a,b,y,truth", *lines]), [("klm"[y[i]], "klm"[clean[i]]) for i in range(120)]


def test_gold_labels_settle_their_rows_in_issues_and_corrected_labels(service, trained):
    text, labels = table(20)
    job = trained(service.upload(text, gold="truth")["id"])
    listed = {one["row"]: one for one in service.http.get(f"{job}/issues?limit=1000").json()["data"]}
    rows = list(
        csv.DictReader(service.http.get(f"{job}/corrected?correct_at=0&format=csv").text.splitlines())
    )
    for place, (given, true) in enumerate(labels[:20]):
        row = rows[place]
        assert (row["decision"], row["corrected"], float(row["confidence"])) == ("gold", true, 1)
        assert (place in listed) == (given != true)
        if given != true:
            found = listed[place]
            assert (found["suggested"], found["probability"], found["gold"]) == (true, 1, True)
    assert not any(one["gold"] for place, one in listed.items() if place >= 20)
    report = service.http.get(f"{job}/report").json()
    assert (sum(report["decisions"].values()), report["decisions"]["gold"]) == (120, 20)
    assert any("No matrix is counted from the 20 gold rows" in note for note in report["notes"])
    assert report["notes"] == service.http.get(f"{job}/transition").json()["notes"]
    made = service.http.post(f"{job}/corrected-dataset", json={})  # what is known is a change to make
    after = data.load(service.store.dataset(made.json()["id"]))
    assert [after.classes[k] for k in after.y[:20]] == [true for _, true in labels[:20]]
    assert (after.amended[:20] == data.BY_PERSON).all()


def test_the_next_job_does_not_doubt_what_people_decided_and_tells_what_a_model_put_right(service, trained):
    job = trained(service.upload(table(0)[0], drop=["truth"])["id"])
    listed = service.http.get(f"{job}/issues?limit=1000").json()["data"]
    kept, other = listed[0], next(i for i in range(120) if i not in {one["row"] for one in listed})
    made = [
        {"id": kept["id"], "decision": "keep"},
        {"id": str(other), "decision": "relabel", "label": kept["suggested"]},
    ]
    service.http.post(f"{job}/decisions", json={"decisions": made})
    child = service.http.post(f"{job}/corrected-dataset", json={"correct_at": 0.5}).json()["id"]
    again = trained(child)
    rows = {one["row"] for one in service.http.get(f"{again}/issues?limit=1000").json()["data"]}
    assert not {kept["row"], other} & rows
    rows = list(csv.DictReader(service.http.get(f"{again}/corrected?format=csv").text.splitlines()))
    assert [rows[place]["decision"] for place in (kept["row"], other)] == ["reviewed", "reviewed"]
    changed = service.http.get(f"/datasets/{child}/report").json()["corrections"]["by_threshold"]
    notes = service.http.get(f"{again}/report").json()["notes"]
    assert any(note.startswith(f"{changed} of 120 labels were put right by the model") for note in notes)
    assert not any("put right" in note for note in service.http.get(f"{job}/report").json()["notes"])
    nothing = service.http.post(f"{again}/corrected-dataset", json={})
    assert nothing.status_code == 409  # what was decided before is no change
