"""Uploads and datasets over HTTP: what is kept, what is refused, and that nothing is left of what failed."""

import socket
import threading
import time

import pytest
from sqlalchemy import event, func, select
from sqlalchemy.exc import OperationalError

from app.core import datasets
from app.core.tables import Dataset, Intake, Job, Receipt

UNKNOWN = "ds_" + "0" * 26


def litter(service):
    """Files of uploads that are under way, and folders of datasets."""
    root = service.store.root
    return [*(root / "tmp").iterdir(), *(root / "datasets").iterdir()]


def count(service, table):
    with service.database.read() as tx:
        return tx.scalar(select(func.count()).select_from(table))


def test_a_small_file_is_read_at_once(shared, csv_file):
    answer = shared.http.post("/datasets", params={"name": "mine", "label": "y"}, content=csv_file)
    assert answer.status_code == 201
    dataset = answer.json()
    assert answer.headers["Location"] == f"/datasets/{dataset['id']}"
    assert (dataset["state"], dataset["name"], dataset["kind"]) == ("ready", "mine", "tabular")
    assert (dataset["rows"], dataset["classes"]) == (120, ["a", "b"])
    assert dataset["options"]["label"] == "y"
    assert dataset["created_at"].endswith("Z")
    assert shared.http.get(answer.headers["Location"]).json() == dataset
    assert shared.store.dataset(dataset["id"]).is_dir()
    assert not shared.store.source(dataset["id"]).exists()


def test_the_report_tells_what_was_found(shared, csv_file):
    dataset = shared.upload(csv_file)
    report = shared.http.get(f"/datasets/{dataset['id']}/report").json()
    assert report["rows"] == 120
    assert report["classes"] == [{"name": "a", "rows": 60, "gold": 0}, {"name": "b", "rows": 60, "gold": 0}]
    assert report["sha256"] == dataset["sha256"]
    assert {"imbalance", "duplicates", "conflicting", "refused"} <= report.keys()


@pytest.mark.parametrize("kind", ["tabular", "vectors", "image"])
def test_every_kind_of_file_is_recognised(shared, sources, kind):
    assert shared.upload(sources(kind))["kind"] == kind


def test_columns_can_be_dropped_by_name(shared, csv_file):
    dataset = shared.http.post("/datasets?drop=a&drop=b", content=csv_file).json()
    assert dataset["options"]["drop"] == ["a", "b"]
    report = shared.http.get(f"/datasets/{dataset['id']}/report").json()
    assert report["columns"]["used"] == ["c"]


def test_a_file_that_cannot_be_used_is_422_and_leaves_nothing(service):
    answer = service.http.post("/datasets", content="a,y\n1,x\n2,x\n")
    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (422, "invalid_dataset")
    assert problem["errors"][0]["code"] == "too_few_classes"
    assert litter(service) == []
    assert count(service, Dataset) == 0


def test_a_reason_names_its_line(service):
    body = "a,y\n" + "1,x\n2,z\n" * 3 + "1,2,3\n" * 20
    problem = service.http.post("/datasets", content=body).json()
    assert problem["code"] == "invalid_dataset"
    assert any("line" in fault for fault in problem["errors"]), problem


def test_a_large_file_waits_for_a_worker(tmp_path, run_service, csv_file):
    with run_service(tmp_path, inline_bytes=10) as service:
        answer = service.http.post("/datasets", content=csv_file)
        dataset = answer.json()
        assert (answer.status_code, dataset["state"]) == (202, "validating")
        report = service.http.get(f"/datasets/{dataset['id']}/report")
        assert (report.status_code, report.json()["code"]) == (404, "not_ready_yet")
        assert int(report.headers["Retry-After"]) > 0
        assert "ETag" not in service.http.get(f"/datasets/{dataset['id']}").headers
        assert service.store.source(dataset["id"]).read_text() == csv_file
        assert service.http.get("/jobs").json()["data"] == []  # the reading is ours, not the user's
        refused = service.http.post("/jobs", json={"dataset_id": dataset["id"]})
        assert (refused.status_code, refused.json()["code"]) == (409, "dataset_not_ready")
        with service.database.read() as tx:
            job_id = tx.scalar(select(Job.id))
        assert service.http.get(f"/jobs/{job_id}").status_code == 404
        assert service.http.post(f"/jobs/{job_id}/cancel").status_code == 404
        assert service.claim().task == "ingest"
        assert service.http.delete(f"/datasets/{dataset['id']}").json()["code"] == "dataset_in_use"


def test_a_large_file_that_nobody_has_begun_to_read_can_be_deleted(tmp_path, run_service, csv_file):
    with run_service(tmp_path, inline_bytes=10) as service:
        dataset = service.http.post("/datasets", content=csv_file).json()["id"]
        assert service.http.delete(f"/datasets/{dataset}").status_code == 204
        assert service.claim() is None
        assert list((service.store.root / "datasets").iterdir()) == []


def test_a_worker_s_refusal_is_told_in_the_report(tmp_path, run_service, csv_file):
    reasons = [{"code": "bad_json", "detail": "no JSON", "line": 3}]
    with run_service(tmp_path, inline_bytes=10) as service:
        dataset = service.http.post("/datasets", content=csv_file).json()
        with service.database.begin() as tx:
            why = {"code": "invalid_dataset", "message": "the file cannot be used", "errors": reasons}
            datasets.settle(tx, dataset["id"], state=Intake.refused, error=why)
        report = service.http.get(f"/datasets/{dataset['id']}/report").json()
        assert report["state"] == "refused"
        assert [{k: v for k, v in reason.items() if v is not None} for reason in report["reasons"]] == reasons


def test_a_file_over_the_limit_is_413_whether_it_says_so_or_not(tmp_path, run_service):
    with run_service(tmp_path, max_upload_bytes=1000) as service:
        for body in (b"x" * 2000, (b"x" * 100 for _ in range(20))):
            answer = service.http.post("/datasets", content=body)
            assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")
        wait_for(lambda: not litter(service))  # the answer leaves before the file does


def test_a_client_that_leaves_in_the_middle_leaves_nothing(service):
    host, port = service.address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as connection:
        head = f"POST /datasets HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {'t' * 32}\r\n"
        connection.sendall(f"{head}Content-Length: 9000000\r\n\r\n".encode() + b"a,y\n" * 700_000)
        wait_for(lambda: litter(service))
    wait_for(lambda: not litter(service))
    assert count(service, Dataset) == 0


def wait_for(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_commit_that_fails_takes_the_bytes_with_it(service, csv_file):
    def fail(_connection):
        raise OperationalError("COMMIT", {}, Exception("disk"))

    event.listen(service.app.state.database.writer, "commit", fail)
    answer = service.http.post("/datasets", content=csv_file)
    event.remove(service.app.state.database.writer, "commit", fail)
    assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
    assert int(answer.headers["Retry-After"]) > 0
    assert litter(service) == []
    assert count(service, Dataset) == 0


def test_a_store_without_space_is_507(tmp_path, run_service, csv_file):
    with run_service(tmp_path, min_free_bytes=2**60) as service:
        answer = service.http.post("/datasets", content=csv_file)
        assert (answer.status_code, answer.json()["code"]) == (507, "storage_full")


def test_forms_and_compressed_bodies_are_415(shared, csv_file):
    form = shared.http.post("/datasets", files={"file": csv_file.encode()})
    assert (form.status_code, form.json()["code"]) == (415, "unsupported_media_type")
    packed = shared.http.post("/datasets", content=csv_file, headers={"Content-Encoding": "gzip"})
    assert packed.status_code == 415


@pytest.mark.parametrize(
    ("query", "parameter"),
    [
        ("kind=sound", "kind"),
        ("image_size=1", "image_size"),
        ("nmae=x", "nmae"),
        ("name=", "name"),
        ("name=%00", "name"),
    ],
)
def test_parameters_that_mean_nothing_are_422_by_name(shared, query, parameter):
    answer = shared.http.post(f"/datasets?{query}", content=b"a,y\n1,2\n")
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["parameter"] == parameter


def test_a_dataset_is_deleted_once_no_job_needs_it(service, csv_file):
    dataset = service.upload(csv_file)
    job = service.job(dataset["id"])
    busy = service.http.delete(f"/datasets/{dataset['id']}")
    assert (busy.status_code, busy.json()["code"]) == (409, "dataset_in_use")
    service.http.post(f"/jobs/{job['id']}/cancel")
    assert service.http.delete(f"/datasets/{dataset['id']}").status_code == 204
    assert service.http.get(f"/datasets/{dataset['id']}").status_code == 404
    assert service.http.delete(f"/datasets/{dataset['id']}").status_code == 404
    assert litter(service) == []
    assert service.http.get(f"/jobs/{job['id']}").json()["dataset_id"] is None
    retry = service.http.post(f"/jobs/{job['id']}/retry")
    assert (retry.status_code, retry.json()["code"]) == (409, "dataset_deleted")


def test_what_never_changes_is_not_sent_twice(shared, csv_file):
    dataset = shared.upload(csv_file)
    for path in (f"/datasets/{dataset['id']}", f"/datasets/{dataset['id']}/report"):
        tag = shared.http.get(path).headers["ETag"]
        for known in (tag, f"W/{tag}", f'"other", {tag}', "*"):
            again = shared.http.get(path, headers={"If-None-Match": known})
            assert (again.status_code, again.content) == (304, b"")
            assert again.headers["ETag"] == tag
        assert shared.http.get(path, headers={"If-None-Match": '"other"'}).status_code == 200


def test_pages_are_newest_first_and_miss_nothing(service, csv_file):
    made = [service.upload(csv_file, name=str(i))["id"] for i in range(5)]
    found, after = [], None
    while True:
        page = service.http.get("/datasets", params={"limit": 2} | ({"after": after} if after else {})).json()
        found += [dataset["id"] for dataset in page["data"]]
        if not page["has_more"]:
            break
        after = page["next_cursor"]
    assert found == made[::-1]
    assert page["next_cursor"] is None
    for wrong in ("limit=0", "limit=101", "limit=x", "after=%00", "limit=99999999999999999999"):
        assert service.http.get(f"/datasets?{wrong}").status_code == 422, wrong


def test_the_same_upload_with_the_same_key_is_one_dataset(service, csv_file):
    head = {"Idempotency-Key": "upload-1"}
    first = service.http.post("/datasets?name=x", content=csv_file, headers=head)
    again = service.http.post("/datasets?name=x", content=csv_file, headers=head)
    assert (again.status_code, again.json()) == (first.status_code, first.json())
    assert count(service, Dataset) == 1
    assert len(litter(service)) == 1
    for query, body in (("name=y", csv_file), ("name=x", csv_file + "\n1,1,x,a")):
        other = service.http.post(f"/datasets?{query}", content=body, headers=head)
        assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")
    service.http.delete(f"/datasets/{first.json()['id']}")
    assert service.http.post("/datasets?name=x", content=csv_file, headers=head).status_code == 404


def test_uploads_that_race_with_one_key_leave_one_dataset(service, csv_file):
    answers = []

    def send():
        answers.append(service.http.post("/datasets", content=csv_file, headers={"Idempotency-Key": "race"}))

    threads = [threading.Thread(target=send) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert (count(service, Dataset), count(service, Receipt), len(litter(service))) == (1, 1, 1)


def test_an_unknown_dataset_is_404_everywhere(shared):
    for answer in (
        shared.http.get(f"/datasets/{UNKNOWN}"),
        shared.http.get(f"/datasets/{UNKNOWN}/report"),
        shared.http.delete(f"/datasets/{UNKNOWN}"),
    ):
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
