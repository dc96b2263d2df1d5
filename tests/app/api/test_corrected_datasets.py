"""Decisions become a new dataset: the same rows under new labels, whole, with its parent, here or by a worker."""

import time

import numpy as np
import orjson
import pytest

from app.core import stores
from app.core.tables import Dataset
from c2s import config, data, pipeline
from worker import runner


@pytest.fixture
def review(sources, trained):
    """A dataset and a job on it whose labels are judged."""

    def publish(service, kind="vectors", **config):
        dataset = service.upload(sources(kind), name=kind)
        job = service.job(dataset["id"], **config)["id"]
        held = service.claim()
        assert held.job_id == job
        service.publish(held, *trained(kind))
        return dataset, f"/jobs/{job}", held

    return publish


def decide(service, job, *made):
    body = {"decisions": [dict(zip(("id", "decision", "label"), one, strict=False)) for one in made]}
    assert service.http.post(f"{job}/decisions", json=body).status_code == 200


def work(service, store):
    """Do as a worker does with the next job."""
    since, held = time.monotonic(), service.claim()
    runner.run(runner.Site(service.settings, service.database, store), held, since=since)


def test_the_new_dataset_has_the_same_rows_under_the_labels_that_people_gave(shared, review, trained):
    dataset, job, _ = review(shared)
    decide(shared, job, ("0", "relabel", "2"), ("1", "keep"), ("4", "relabel", "0"))
    answer = shared.http.post(f"{job}/corrected-dataset", json={"name": "better"})
    assert answer.status_code == 201, answer.text
    made = answer.json()
    assert answer.headers["Location"] == f"/datasets/{made['id']}"
    assert (made["name"], made["state"], made["rows"]) == ("better", "ready", 90)
    assert (made["parent_id"], made["job_id"]) == (dataset["id"], job[6:])
    assert (dataset["parent_id"], dataset["job_id"]) == (None, None)
    assert made["sha256"] != dataset["sha256"]
    before, after = (data.load(shared.store.dataset(one["id"])) for one in (dataset, made))
    wanted = np.array(before.y)
    wanted[[0, 4]] = 2, 0
    assert np.array_equal(after.y, wanted)
    assert np.array_equal(after.x, before.x)
    assert (after.ids, after.labels, after.gold) == (before.ids, before.labels, None)
    assert after.digest() == made["sha256"]
    report = shared.http.get(f"/datasets/{made['id']}/report").json()
    assert report["corrections"] == {"reviewed": 3, "by_threshold": 0, "gold": False}
    assert [one["rows"] for one in report["classes"]] == np.bincount(wanted).tolist()
    noted = shared.http.get("/audit").json()["data"]
    assert any(one["target"] == made["id"] and one["detail"]["job_id"] == job[6:] for one in noted)
    assert shared.http.delete(f"/datasets/{dataset['id']}").status_code == 204  # the new one stands alone
    again = shared.job(made["id"], **shared.http.get(job).json()["config"])
    assert shared.http.get(f"/jobs/{again['id']}").json()["dataset_id"] == made["id"]
    model = shared.publish(shared.claim(), *trained("vectors"))
    assert shared.http.get(f"/models/{model}/lineage").json()["dataset"]["parent_id"] == dataset["id"]
    gone = shared.http.post(f"{job}/corrected-dataset", json={})
    assert (gone.status_code, gone.json()["code"]) == (409, "dataset_deleted")


def test_confident_corrections_join_where_a_threshold_says_so_and_people_win(service, review):
    dataset, job, _ = review(service)
    rows = service.http.get(f"{job}/issues?limit=1000").json()["data"]
    sure = [row for row in rows if row["probability"] >= 0.5]
    decide(service, job, (sure[0]["id"], "keep"))
    made = service.http.post(f"{job}/corrected-dataset", json={"correct_at": 0.5, "gold": True}).json()
    assert made["name"] == "vectors (corrected)"
    before, after = (data.load(service.store.dataset(one["id"])) for one in (dataset, made))
    changed = np.flatnonzero(before.y != after.y).tolist()
    assert changed == sorted(row["row"] for row in sure[1:])
    assert np.flatnonzero(after.gold >= 0).tolist() == [sure[0]["row"]]
    assert after.gold[sure[0]["row"]] == before.y[sure[0]["row"]]
    report = service.http.get(f"/datasets/{made['id']}/report").json()
    assert report["corrections"] == {"reviewed": 1, "by_threshold": len(sure) - 1, "gold": True}


def test_nothing_to_correct_and_a_single_class_left_are_conflicts(service, review):
    dataset, job, _ = review(service)
    answer = service.http.post(f"{job}/corrected-dataset")  # every field has a default
    assert (answer.status_code, answer.json()["code"]) == (409, "conflict")
    for unsaid in ({"content": b"{}"}, {"content": b"{}", "headers": {"Content-Type": "text/plain"}}):
        assert service.http.post(f"{job}/corrected-dataset", **unsaid).status_code == 415
    decide(service, job, *((str(row), "relabel", "1") for row in range(90)))
    answer = service.http.post(f"{job}/corrected-dataset", json={})
    assert (answer.status_code, answer.json()["code"]) == (409, "conflict")
    assert [one["id"] for one in service.http.get("/datasets").json()["data"]] == [dataset["id"]]
    assert [path.name for path in (service.store.root / "datasets").iterdir()] == [dataset["id"]]
    for wrong in ({"correct_at": 2}, {"name": ""}, {"keep_at": 0}):
        assert service.http.post(f"{job}/corrected-dataset", json=wrong).status_code == 422


def test_a_class_that_lost_its_last_row_is_left_out(service, review):
    dataset, job, _ = review(service)
    gone = np.flatnonzero(data.load(service.store.dataset(dataset["id"])).y == 1)
    decide(service, job, *((str(row), "relabel", "2") for row in gone))
    made = service.http.post(f"{job}/corrected-dataset", json={}).json()
    assert made["classes"] == ["0", "2"]
    found = data.load(service.store.dataset(made["id"]))
    assert (found.labels, np.bincount(found.y).tolist()) == ((0, 2), [30, 60])


def test_classes_that_the_job_merged_are_one_in_the_new_dataset(service, sources, tmp_path):
    dataset = service.upload(sources("vectors"), name="v")
    quick = {"epochs": 1, "batch_size": 32}
    more = {
        "stage1": quick,
        "stage2": quick,
        "transition": {"posteriors": "in-sample"},
        "merge": [["2", "0"]],
    }
    job = service.job(dataset["id"], **more)["id"]
    found = data.load(service.store.dataset(dataset["id"]))
    result = pipeline.run(found, config.TrainConfig.parse(more), tmp_path / "run")
    service.publish(service.claim(), result.folder, result.card)
    job = f"/jobs/{job}"
    decide(service, job, ("1", "relabel", "2"))
    assert (
        service.http.post(
            f"{job}/decisions", json={"decisions": [{"id": "1", "decision": "relabel", "label": "0"}]}
        ).json()["errors"][0]["pointer"]
        == "/decisions/0/label"
    )  # merged away
    made = service.http.post(f"{job}/corrected-dataset", json={}).json()
    assert made["classes"] == ["1", "2"]
    after = data.load(service.store.dataset(made["id"]))
    wanted = np.where(found.y == 1, 0, 1)
    wanted[1] = 1
    assert np.array_equal(after.y, wanted)
    assert after.labels == (1, 2)
    report = service.http.get(f"/datasets/{made['id']}/report").json()
    assert report["notes"] == ["0 is 2 here (30 rows): the job took these classes for one."]


def test_what_was_given_is_told_as_the_file_has_it_whatever_the_job_merged(service, sources, tmp_path):
    dataset = service.upload(sources("vectors"), name="v")
    found = data.load(service.store.dataset(dataset["id"]))
    quick = {"epochs": 1, "batch_size": 32}
    more = {
        "stage1": quick,
        "stage2": quick,
        "transition": {"posteriors": "in-sample"},
        "merge": [["2", "0"]],
    }
    job = f"/jobs/{service.job(dataset['id'], **more)['id']}"
    result = pipeline.run(found, config.TrainConfig.parse(more), tmp_path / "run")
    model = service.publish(service.claim(), result.folder, result.card)
    lines = service.http.get(f"{job}/corrected?format=jsonl").text.splitlines()
    rows = [orjson.loads(line) for line in lines]
    assert [row["given"] for row in rows] == [str(k) for k in found.y]
    for row in rows:  # the classes of a group are one: no row moves inside it
        kept = row["decision"] in ("kept", "review")
        assert row["corrected"] == row["given"] if kept else {row["corrected"], row["given"]} - {"0", "2"}
    decide(service, job, ("0", "keep"))
    (kept,) = service.http.get(f"{job}/decisions").json()["data"]
    assert (kept["given"], kept["label"]) == ("0", "0")
    for given in ("0", "2"):
        some = service.http.get(f"{job}/issues", params={"given": given, "limit": 1000}).json()["data"]
        assert all((row["given"], row["suggested"]) == (given, "1") for row in some)
    asked = service.http.get(f"{job}/gold").json()["data"]
    assert all(row["given"] == str(found.y[int(row["id"])]) for row in asked)
    told = service.http.post(f"{job}/gold", json={"labels": {row["id"]: "0" for row in asked}})
    assert told.status_code == 200, told.text  # 0 is understood as the class that it was merged into
    body = {"model": model, "inputs": found.x[:2].tolist(), "labels": ["0", "2"]}
    answer = service.http.post("/predict", json=body)
    assert answer.status_code == 200, answer.text
    assert service.http.get(f"/ui{job}/review", params={"given": "0"}).status_code == 200


def test_the_same_key_makes_one_dataset_whatever_is_decided_meanwhile(service, review):
    _, job, _ = review(service)
    decide(service, job, ("0", "relabel", "2"))
    head = {"Idempotency-Key": "once"}
    first = service.http.post(f"{job}/corrected-dataset", json={}, headers=head)
    decide(service, job, ("4", "relabel", "0"))
    second = service.http.post(f"{job}/corrected-dataset", json={}, headers=head)
    assert (first.json(), second.status_code) == (second.json(), 201)
    assert len(service.http.get("/datasets").json()["data"]) == 2


def test_bytes_count_against_the_quota_of_the_project(service, sources, trained):
    body = sources("vectors")
    project = service.project(stored_bytes=len(body) + 100)
    with service.client(service.key("read", "write", project_id=project)["secret"]) as http:
        dataset = http.post("/datasets", content=body).json()["id"]
        job = f"/jobs/{http.post('/jobs', json={'dataset_id': dataset}).json()['id']}"
        service.publish(service.claim(), *trained("vectors"))
        made = {"decisions": [{"id": "0", "decision": "relabel", "label": "2"}]}
        assert http.post(f"{job}/decisions", json=made).status_code == 200
        answer = http.post(f"{job}/corrected-dataset", json={})
        assert (answer.status_code, answer.json()["code"]) == (429, "quota_exceeded")
        assert [one["id"] for one in http.get("/datasets").json()["data"]] == [dataset]


@pytest.mark.parametrize("place", ["folder", "bucket"])
def test_a_large_one_is_made_by_a_worker_as_it_was_decided_when_it_was_asked_for(
    place, tmp_path, run_service, review, request, monkeypatch
):
    more = {"inline_bytes": 10**6}
    if place == "bucket":
        server = request.getfixturevalue("s3_server")
        for name, value in server.environment(f"api/{tmp_path.name}").items():
            monkeypatch.setenv(name, value)
        more["store_url"] = f"s3://{server.BUCKET}/api/{tmp_path.name}"
    with run_service(tmp_path, **more) as service:
        dataset, job, held = review(service)
        store = stores.open_store(service.settings)
        store.keep_outcome(held.job_id, held.fence, "result")
        decide(service, job, ("0", "relabel", "2"))
        small = service.http.post(f"{job}/corrected-dataset", json={}).json()
        service.app.state.settings = service.settings.model_copy(update={"inline_bytes": 0})
        answer = service.http.post(f"{job}/corrected-dataset", json={})
        assert (answer.status_code, answer.json()["state"]) == (202, "validating")
        busy = service.http.delete(f"/datasets/{dataset['id']}")
        assert (busy.status_code, busy.json()["code"]) == (409, "dataset_in_use")
        decide(service, job, ("4", "relabel", "0"))
        work(service, store)
        made = service.http.get(f"/datasets/{answer.json()['id']}").json()
        assert (made["state"], made["sha256"]) == ("ready", small["sha256"]), made
        assert data.load(store.open_dataset(made["id"])).digest() == small["sha256"]
        assert not store.source(made["id"]).exists()
        with service.database.read() as tx:
            assert tx.get(Dataset, made["id"]).report["corrections"]["reviewed"] == 1
        later = service.http.delete(f"/datasets/{dataset['id']}")
        assert later.json()["code"] == "dataset_reviewed", "a decision came after what was asked for"
        for one in (dataset, small, made):
            assert service.http.delete(f"/datasets/{one['id']}", params={"force": "true"}).status_code == 204
        assert not any(piece.key.startswith("datasets/") for piece in store.pieces())
        store.close()
