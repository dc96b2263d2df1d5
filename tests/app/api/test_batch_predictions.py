"""Predictions for many rows over HTTP: made once, watched, read in three forms, deleted; nobody else's to see."""

import csv
import functools
import io
import json
import time

import httpx
import pyarrow as pa
import pytest
from pyarrow import parquet

from app import doctor
from app.core import jobs
from worker import runner

TABLE = "a,b,c\n1,2,x\nnone,2,x\n3,4,=y\n"
WHOLE = "a,b,c,y\n" + "".join(f"{i % 7},{(i * 3) % 5},{'xyz'[i % 3]},{'abc'[i % 3]}\n" for i in range(120))


def work(service, job_id=None):
    """Do queued jobs as a worker would, until this one is done."""
    while True:
        since, held = time.monotonic(), service.claim()
        assert held is not None
        if held.task != "predict":
            service.end(held)
            continue
        runner.run(runner.Site(service.settings, service.database, service.store), held, since=since)
        if job_id in (None, held.job_id):
            return


def send(service, body, model, **query):
    return service.http.post("/predictions", content=body, params={"model": model, **query})


@pytest.fixture(scope="module")
def done(shared, published):
    """A finished job over a file."""
    model, _ = published("tabular")
    answer = send(shared, TABLE, model)
    assert answer.status_code == 202, answer.text
    assert answer.headers["Location"] == f"/predictions/{answer.json()['id']}"
    work(shared, answer.json()["id"])
    return answer.json()["id"]


def test_a_file_is_predicted_as_predict_would(shared, published, done):
    model, _ = published("tabular")
    told = shared.http.get(f"/predictions/{done}").json()
    assert (told["state"], told["rows"], told["rows_done"], told["errors"]) == ("succeeded", 3, 3, 1)
    assert (told["model_id"], told["dataset_id"]) == (model, None)
    lines = shared.http.get(f"/predictions/{done}/results", params={"format": "jsonl"})
    assert lines.headers["Content-Type"] == "application/x-ndjson"
    rows = [json.loads(line) for line in lines.text.splitlines()]
    assert [(row["row"], row["line"]) for row in rows] == [(0, 2), (1, 3), (2, 4)]
    assert rows[1].keys() == {"row", "line", "error"}
    inputs = [{"a": 1, "b": 2, "c": "x"}, {"a": 3, "b": 4, "c": "=y"}]
    alone = shared.http.post("/predict", json={"model": model, "inputs": inputs}).json()["predictions"]
    for row, one in zip((rows[0], rows[2]), alone, strict=True):
        assert row["class"] == one["class"]
        assert row["probabilities"] == pytest.approx(one["probabilities"], rel=1e-6)


def test_csv_and_parquet_hold_the_same(shared, done):
    text = shared.http.get(f"/predictions/{done}/results", headers={"Accept": "text/csv"})
    assert text.headers["Content-Type"].startswith("text/csv")
    rows = list(csv.DictReader(io.StringIO(text.text)))
    names = [
        "row",
        "line",
        "class",
        "probability",
        "probability_a",
        "probability_b",
        "probability_c",
        "error",
    ]
    assert list(rows[0]) == names
    blob = shared.http.get(f"/predictions/{done}/results?format=parquet")
    assert int(blob.headers["Content-Length"]) == len(blob.content)
    table = parquet.read_table(pa.BufferReader(blob.content)).to_pylist()
    assert [row["class"] or "" for row in table] == [row["class"] for row in rows]
    assert float(rows[0]["probability_b"]) == table[0]["probabilities"][1]
    assert rows[1]["probability"] == ""
    assert "'none'" in rows[1]["error"]


def test_results_never_change_and_say_so(shared, done):
    path = f"/predictions/{done}/results"
    first = shared.http.get(path)
    assert first.headers["Vary"] == "Accept"
    assert shared.http.get(path).content == first.content
    again = shared.http.get(path, headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    other = shared.http.get(path + "?format=jsonl", headers={"If-None-Match": first.headers["ETag"]})
    assert other.status_code == 200
    assert shared.http.get(path, headers={"Accept": "image/png"}).status_code == 406


def test_a_dataset_is_predicted_with_an_audit_of_its_labels(shared, published):
    model, job = published("tabular")
    dataset = shared.http.get(f"/jobs/{job}").json()["dataset_id"]
    body = {
        "model": "tabular model",
        "dataset_id": dataset,
        "outputs": ["class", "probabilities"],
        "top_k": 2,
    }
    answer = shared.http.post("/predictions", json=body)
    assert answer.status_code == 202, answer.text
    made = answer.json()
    assert (made["model_id"], made["rows"], made["rows_done"]) == (model, 120, 0)
    early = shared.http.get(f"/predictions/{made['id']}/results")
    assert (early.status_code, early.json()["code"]) == (404, "not_ready_yet")
    assert early.headers["Retry-After"] == "5"
    work(shared, made["id"])
    rows = [
        json.loads(line)
        for line in shared.http.get(f"/predictions/{made['id']}/results?format=jsonl").text.splitlines()
    ]
    inputs = [{"a": i % 7, "b": (i * 3) % 5, "c": "xyz"[i % 3]} for i in range(120)]
    labels = ["abc"[i % 3] for i in range(120)]
    asked = {"model": model, "inputs": inputs, "labels": labels, "top_k": 2}
    alone = shared.http.post("/predict", json=asked).json()["predictions"]
    for row, one in zip(rows, alone, strict=True):
        assert [top["class"] for top in row["top"]] == [top["class"] for top in one["top"]]
        assert row["audit"]["label"] == one["audit"]["label"]
        assert row["audit"]["wrong"] == pytest.approx(one["audit"]["wrong"], abs=1e-6)
    flat = next(csv.reader(io.StringIO(shared.http.get(f"/predictions/{made['id']}/results").text)))
    top = ["top_1_class", "top_1_probability", "top_2_class", "top_2_probability"]
    audit = ["label", "wrong", "likeliest", "likeliest_probability"]
    assert flat == ["row", "id", "class", "probability", *top, *audit, "error"]


def test_a_prediction_is_a_job_like_a_training(shared, published):
    made = send(shared, TABLE, published("tabular")[0]).json()
    job = shared.http.get(f"/jobs/{made['id']}").json()
    assert (job["task"], job["state"]) == ("predict", "queued")
    assert made["id"] in [one["id"] for one in shared.http.get("/jobs?task=predict&limit=100").json()["data"]]
    assert made["id"] not in [one["id"] for one in shared.http.get("/jobs?limit=100").json()["data"]]
    assert shared.http.get(f"/jobs/{made['id']}/transition").status_code == 404
    assert shared.http.delete(f"/predictions/{made['id']}").status_code == 409
    assert shared.http.post(f"/jobs/{made['id']}/cancel").json()["state"] == "cancelled"
    none = shared.http.get(f"/predictions/{made['id']}/results")
    assert (none.status_code, none.json()["code"]) == (409, "no_results")
    again = shared.http.post(f"/jobs/{made['id']}/retry")
    assert again.status_code == 202
    assert shared.http.delete(f"/predictions/{made['id']}").status_code == 409  # its file is still needed
    work(shared, again.json()["id"])
    assert shared.http.get(f"/predictions/{again.json()['id']}").json()["rows"] == 3
    kinds = [event["type"] for event in shared.http.get(f"/jobs/{again.json()['id']}/events").json()["data"]]
    assert {"state", "phase", "checkpoint", "end"} <= set(kinds)
    assert shared.http.delete(f"/predictions/{made['id']}").status_code == 204


def test_a_retry_of_a_file_that_is_gone_is_refused(shared, published):
    made = send(shared, TABLE, published("tabular")[0]).json()["id"]
    shared.http.post(f"/jobs/{made}/cancel")
    shared.store.remove_job(made)
    answer = shared.http.post(f"/jobs/{made}/retry")
    assert (answer.status_code, answer.json()["code"]) == (409, "dataset_deleted")


def test_a_retry_asked_again_after_it_succeeded_is_the_job_that_it_made(shared, published):
    made = send(shared, TABLE, published("tabular")[0]).json()["id"]
    shared.http.post(f"/jobs/{made}/cancel")
    key = {"Idempotency-Key": "retry-1"}
    first = shared.http.post(f"/jobs/{made}/retry", headers=key)
    work(shared, first.json()["id"])  # its file is gone now
    again = shared.http.post(f"/jobs/{made}/retry", headers=key)
    assert (again.status_code, again.json()["id"]) == (202, first.json()["id"])
    by_another = shared.http.post(f"/jobs/{made}/retry")
    assert (by_another.status_code, by_another.json()["id"]) == (200, first.json()["id"])


def test_the_same_request_with_a_key_is_one_job(shared, published):
    model, job = published("tabular")
    key = {"Idempotency-Key": "batch-1"}
    two = [
        shared.http.post("/predictions", params={"model": model}, content=TABLE, headers=key) for _ in "12"
    ]
    assert two[0].json()["id"] == two[1].json()["id"]
    other = shared.http.post("/predictions", params={"model": model}, content=TABLE + "1,1,x\n", headers=key)
    assert other.json()["code"] == "idempotency_key_reused"
    body = {"model": model, "dataset_id": shared.http.get(f"/jobs/{job}").json()["dataset_id"]}
    key = {"Idempotency-Key": "batch-2"}
    two = [shared.http.post("/predictions", json=body, headers=key) for _ in "12"]
    assert [answer.status_code for answer in two] == [202, 202]
    assert two[0].json()["id"] == two[1].json()["id"]


def test_what_cannot_be_asked_is_refused_before_a_job_is_made(shared, published):
    model, job = published("tabular")
    dataset = shared.http.get(f"/jobs/{job}").json()["dataset_id"]
    _, other = published("vectors")
    vectors = shared.http.get(f"/jobs/{other}").json()["dataset_id"]
    nobody = "ds_" + "1" * 26

    def ask(**body):
        answer = shared.http.post("/predictions", json={"model": model, "dataset_id": dataset} | body)
        return answer.status_code, answer.json()["code"]

    assert ask(dataset_id=vectors) == (422, "model_mismatch")
    assert ask(dataset_id=nobody) == (422, "unknown_dataset")
    assert ask(model="nobody's") == (404, "not_found")
    assert ask(outputs=["dance"]) == (422, "invalid")
    assert ask(top_k=0) == (422, "invalid")
    assert ask(more=1) == (422, "invalid")
    assert send(shared, TABLE, "nobody's").status_code == 404
    assert send(shared, TABLE, model, outputs="class,dance").status_code == 422
    assert send(shared, TABLE, model, dance=1).status_code == 422
    missing = shared.http.post("/predictions", content=TABLE)
    assert missing.json()["errors"][0]["parameter"] == "model"
    both = shared.http.post("/predictions?model=x", json={"model": model, "dataset_id": dataset})
    assert both.status_code == 422
    assert shared.http.post("/predictions", files={"file": b"x"}).status_code == 415


def test_a_json_body_stays_small_and_a_file_may_be_large(shared, published):
    model, _ = published("tabular")
    headers = {"Content-Type": "application/json"}
    assert shared.http.post("/predictions", content=b" " * 2**21, headers=headers).status_code == 413
    assert send(shared, TABLE + " " * 2**21, model).status_code == 202


def test_cells_that_would_be_computed_are_harmless(shared, published, tmp_path):
    from app.api import downloads
    from worker import answering

    schema = pa.schema(
        [
            ("row", pa.int64()),
            ("id", pa.string()),
            ("class", pa.string()),
            ("probabilities", answering.NUMBERS),
        ],
        metadata={answering.CLASSES: b'["-1","=1+1"]', answering.TOP: b"0"},
    )
    ids = ["=cmd()", "+1", "-2.5", "@x", "-x", "\ty", 'a"b,c', None]
    rows = [{"row": n, "id": one, "class": "=1+1", "probabilities": [0.5, 0.5]} for n, one in enumerate(ids)]
    parquet.write_table(pa.Table.from_pylist(rows, schema=schema), tmp_path / "p")
    text = b"".join(downloads.stream(tmp_path / "p", "csv")).decode()
    found = list(csv.DictReader(io.StringIO(text)))
    assert [row["id"] for row in found] == ["'=cmd()", "+1", "-2.5", "'@x", "'-x", "'\ty", 'a"b,c', ""]
    assert {row["class"] for row in found} == {"'=1+1"}
    assert list(found[0])[3:] == ["probability_-1", "probability_=1+1"]


def test_another_tenant_finds_nothing(shared, published, done):
    model, _ = published("tabular")
    project = shared.project("stranger")
    with shared.client(shared.key(project_id=project)["secret"]) as other:
        assert other.get(f"/predictions/{done}").status_code == 404
        assert other.get(f"/predictions/{done}/results").status_code == 404
        assert other.delete(f"/predictions/{done}").status_code == 404
        assert other.post("/predictions", params={"model": model}, content=TABLE).status_code == 404
        assert other.post("/predictions", params={"model": "tabular model"}, content=TABLE).status_code == 404


def test_rows_count_against_the_quota_of_predictions(service, trained):
    dataset = service.upload(WHOLE)["id"]
    job = service.job(dataset)["id"]
    service.publish(service.claim(), *trained("tabular"))
    model = service.http.get(f"/jobs/{job}").json()["model_id"]
    (project,) = [one["id"] for one in service.http.get("/projects").json()["data"]]
    service.http.patch(f"/projects/{project}", json={"quotas": {"predictions_per_day": 130}})
    with service.client(service.key("predict", "read", "write")["secret"]) as other:
        body = {"model": model, "dataset_id": dataset}
        assert other.post("/predictions", json=body).status_code == 202
        refused = other.post("/predictions", json=body)
        assert (refused.status_code, refused.json()["code"]) == (429, "quota_exceeded")
        made = other.post("/predictions", params={"model": model}, content="a,b,c\n" + "1,2,x\n" * 11).json()[
            "id"
        ]
        fine = other.post("/predictions", params={"model": model}, content="a,b,c\n" + "1,2,x\n" * 10).json()[
            "id"
        ]
        work(service)
        work(service)
        work(service)
        lost = other.get(f"/predictions/{made}").json()
        assert (lost["state"], lost["error"]["code"]) == ("failed", "quota_exceeded")
        assert "at most 10 rows" in lost["error"]["message"]
        assert other.get(f"/predictions/{fine}").json()["state"] == "succeeded"
        full = other.post("/predictions", params={"model": model}, content=TABLE)
        assert (full.status_code, full.json()["code"]) == (429, "quota_exceeded")


def test_files_posted_together_do_not_pass_the_quota(service, trained):
    job = service.job(service.upload(WHOLE)["id"])["id"]
    service.publish(service.claim(), *trained("tabular"))
    model = service.http.get(f"/jobs/{job}").json()["model_id"]
    (project,) = [one["id"] for one in service.http.get("/projects").json()["data"]]
    service.http.patch(f"/projects/{project}", json={"quotas": {"predictions_per_day": 10}})
    body, key = "a,b,c\n" + "1,2,x\n" * 10, {"Idempotency-Key": "first"}
    with service.client(service.key("predict", "read", "write")["secret"]) as other:
        send = functools.partial(other.post, "/predictions", params={"model": model}, content=body)
        made = [send(headers=key), send(), send()]
        assert [answer.status_code for answer in made] == [202] * 3
        dropped = made[2].json()["id"]
        other.post(f"/jobs/{dropped}/cancel")
        for _ in range(2):
            work(service)
        shown = [other.get(f"/predictions/{answer.json()['id']}").json() for answer in made]
        assert [one["state"] for one in shown] == ["succeeded", "failed", "cancelled"]
        assert shown[1]["error"]["code"] == "quota_exceeded"
        assert "predictions_per_day" in shown[1]["error"]["message"]
        retry = other.post(f"/jobs/{dropped}/retry")
        assert (retry.status_code, retry.json()["code"]) == (429, "quota_exceeded")
        assert send().status_code == 429
        replay = send(headers=key)  # of what was made before the quota was used up
        assert (replay.status_code, replay.json()["id"]) == (202, made[0].json()["id"])
    assert service.http.get(f"/projects/{project}").json()["usage"]["predictions_today"] == 10


def test_deleting_leaves_neither_row_nor_bytes_but_an_entry(service, trained):
    service.job(service.upload(WHOLE)["id"])
    model = service.publish(service.claim(), *trained("tabular"))
    made = send(service, TABLE, model).json()["id"]
    assert doctor.examine(service.database, service.store, young=0) == []  # what waits is no litter
    work(service)
    assert doctor.examine(service.database, service.store, young=0, deep=True) == []
    result = service.store.at(f"jobs/{made}/1/run/result/predictions.parquet")
    saved = result.read_bytes()
    result.write_bytes(saved[:-1] + b"x")
    (loss,) = doctor.examine(service.database, service.store, young=0, deep=True)
    assert (loss.kind, loss.what) == ("loss", f"the predictions of job {made} have changed")
    result.unlink()
    (loss,) = doctor.examine(service.database, service.store, young=0)
    assert "are gone" in loss.what
    assert service.http.get(f"/predictions/{made}/results").status_code == 503
    assert service.http.delete(f"/predictions/{made}").status_code == 204
    assert service.http.get(f"/predictions/{made}").status_code == 404
    assert not service.store.at(f"jobs/{made}").exists()
    entry = service.http.get("/audit").json()["data"][0]
    assert (entry["action"], entry["target"]) == ("prediction.delete", made)


def test_a_failed_upload_is_kept_a_week_and_then_litter(service, trained):
    service.job(service.upload(WHOLE)["id"])
    model = service.publish(service.claim(), *trained("tabular"))
    made = send(service, "a,c\n1,x\n", model).json()["id"]
    work(service)
    assert service.http.get(f"/predictions/{made}").json()["state"] == "failed"
    week = doctor.KEPT_SECONDS
    doctor.KEPT_SECONDS = 0
    try:
        keys = {found.key for found in doctor.litter(service.database, service.store, young=0)}
        assert keys == {f"jobs/{made}/0", f"jobs/{made}/1"}
        with service.database.begin() as tx:
            jobs.retry(tx, made, max_queue=9)
        keys = {found.key for found in doctor.litter(service.database, service.store, young=0)}
        assert keys == {f"jobs/{made}/1"}
    finally:
        doctor.KEPT_SECONDS = week


def test_a_client_that_leaves_during_an_upload_leaves_nothing(service, trained):
    service.job(service.upload(WHOLE)["id"])
    model = service.publish(service.claim(), *trained("tabular"))

    def slowly():
        yield b"a,b,c\n"
        raise ConnectionAbortedError

    with pytest.raises((ConnectionAbortedError, httpx.HTTPError)):
        send(service, slowly(), model)
    deadline = time.monotonic() + 30
    while list((service.store.root / "tmp").iterdir()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert list((service.store.root / "tmp").iterdir()) == []
    assert service.http.get("/jobs?task=predict").json()["data"] == []
