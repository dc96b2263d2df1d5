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


def test_rows_that_are_gold_are_neither_asked_for_nor_counted_as_left(service, trained):
    text, labels = table(20)
    job = trained(service.upload(text, gold="truth")["id"])
    found = service.http.get(f"{job}/gold?rows=1000").json()
    asked = {row["id"]: row["predicted"] for row in found["data"]}
    assert found["held"] == len(asked) > 4
    assert not asked.keys() & {str(place) for place in range(20)}
    few = dict(list(asked.items())[:4])
    told = service.http.post(f"{job}/gold", json={"labels": few}).json()
    assert f"all {len(asked) - 4} that are left" in told["gold_words"]
    assert told["marked"] == service.http.get(f"{job}/report").json()["worth"]["gold"]
    assert (told["asked"]["rows"], told["rows"]) == (4, 4 + told["marked"]["rows"])  # each row once
    share = 20 / 120
    assert told["pooled"] == "share"
    expected = share * told["marked"]["value"] + (1 - share) * told["asked"]["value"]
    assert told["value"] == pytest.approx(expected)
    assert "count for the 16.7% of all rows that is gold" in told["words"]
    drawn = service.http.post(f"{job}/gold", json={"labels": few, "random_gold": True}).json()
    assert drawn["pooled"] == "random"
    assert drawn["high"] - drawn["low"] < told["high"] - told["low"]
    refused = service.http.post(f"{job}/gold", json={"labels": few | {"0": labels[0][1]}})
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["detail"] == "row '0' is gold already: the report counts it"


@pytest.mark.parametrize("gold", [2, 20, 60, 120])
def test_the_report_counts_as_left_the_rows_that_may_be_asked_for(service, trained, gold):
    job = trained(service.upload(table(gold)[0], gold="truth")["id"])
    left = service.http.get(f"{job}/gold?rows=1000").json()["held"]
    told = service.http.get(f"{job}/report").json()["worth"]
    more = 3 * told["gold"]["rows"]  # four times the rows halve an interval
    assert told["more_gold"] == (more if more <= left else None)
    if told["more_gold"] is None:
        assert (f"all {left} that are left" if left else "none is left") in told["gold_words"]
    assert (left == 0) == (gold == 120)


@pytest.mark.parametrize(("gold", "status"), [(15, 422), (30, 202)])
def test_a_matrix_of_gold_rows_needs_ten_of_each_class(service, gold, status):
    dataset = service.upload(table(gold)[0], gold="truth")["id"]
    asked = {"dataset_id": dataset, "transition": {"estimator": "gold"}}
    answer = service.http.post("/jobs", json=asked)
    assert answer.status_code == status
    if status == 422:
        (fault,) = answer.json()["errors"]
        assert (fault["pointer"], fault["code"]) == ("/transition/estimator", "invalid_transition")
        assert fault["detail"].startswith("the dataset has 15 gold rows, and each of its ")


def test_a_forecast_knows_that_gold_rows_are_held_out(service, trained):
    dataset = service.upload(table(20)[0], gold="truth")["id"]
    assert sum(one["gold"] for one in service.http.get(f"/datasets/{dataset}/report").json()["classes"]) == 20
    dry = service.http.post("/jobs?dry_run=true", json={"dataset_id": dataset}).json()["forecast"]
    assert {one["rows"] for one in dry["trainings"] if one["name"] == "stage1"} == {dry["training_rows"]}
    held = 120 - dry["training_rows"]
    job = trained(dataset)
    found = service.http.get(f"{job}/gold?rows=1000").json()["held"]
    told = service.http.get(f"{job}/report").json()["worth"]["gold"]["rows"]
    assert told == 20
    assert held == pytest.approx(found + told, abs=3)


def test_a_model_of_labels_put_right_audits_labels_as_they_came_by_their_own_matrix(service, trained):
    text, labels = table(120)
    lines = [line.split(",") for line in text.splitlines()[1:]]
    first = trained(service.upload(text, drop=["truth"])["id"])
    right = [{"id": str(i), "decision": "relabel", "label": true} for i, (_, true) in enumerate(labels)]
    assert service.http.post(f"{first}/decisions", json={"decisions": right}).status_code == 200
    child = service.http.post(f"{first}/corrected-dataset", json={}).json()["id"]
    second = trained(child)

    def found(job):
        listed = service.http.get("/models").json()["data"]
        model = next(one for one in listed if one["job_id"] == job.removeprefix("/jobs/"))
        rows = [{"a": float(a), "b": float(b)} for a, b, *_ in lines]
        body = {"model": model["id"], "inputs": rows, "labels": [given for given, _ in labels]}
        return service.http.post("/predict", json=body).json()

    told = found(second)
    wrong = np.array([given != true for given, true in labels])
    known = np.array([row["audit"]["wrong"] for row in told["predictions"]]) > 0.5
    assert told["audited_as"] == "given"
    assert (known & wrong).sum() >= 0.8 * wrong.sum()
    matrix = service.http.get(f"{second}/transition").json()
    counted = np.array([[sum(one == (g, t) for one in labels) for g in "klm"] for t in "klm"])
    share = counted / counted.sum(axis=1, keepdims=True)
    assert np.abs(np.array(matrix["as_given"]) - share).max() < 0.1
    assert np.diag(matrix["matrix"]).min() > np.diag(share).max()
    assert any("by which the model audits labels" in note for note in matrix["notes"])
    plain = service.http.get(f"{first}/transition").json()
    assert (found(first)["audited_as"], plain["as_given"]) == ("given", None)
