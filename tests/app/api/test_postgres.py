"""The same service on PostgreSQL: races settled by its constraints, and an outage that passes."""

import threading
import time

import pytest

from app.core import db


@pytest.fixture
def service(tmp_path, run_service, postgres_server):
    with run_service(tmp_path, database_url=postgres_server.database()) as found:
        yield found


def together(count, send):
    start, answers = threading.Barrier(count), []

    def one():
        start.wait(60)
        answers.append(send())

    threads = [threading.Thread(target=one) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return answers


def test_posts_that_race_with_one_key_make_one_of_each(service, csv_file):
    head = {"Idempotency-Key": "upload"}
    uploads = together(4, lambda: service.http.post("/datasets", content=csv_file, headers=head))
    assert {answer.status_code for answer in uploads} == {201}, [answer.text for answer in uploads]
    (dataset,) = {answer.json()["id"] for answer in uploads}
    assert [entry["id"] for entry in service.http.get("/datasets").json()["data"]] == [dataset]
    assert [path.name for path in (service.store.root / "datasets").iterdir()] == [dataset]
    head = {"Idempotency-Key": "job"}
    jobs = together(12, lambda: service.http.post("/jobs", json={"dataset_id": dataset}, headers=head))
    assert {answer.status_code for answer in jobs} == {202}, [answer.text for answer in jobs]
    assert len({answer.json()["id"] for answer in jobs}) == 1
    assert len(service.http.get("/jobs").json()["data"]) == 1


def test_a_job_lives_and_is_told_of(service, sources, trained):
    job = service.job(service.upload(sources("vectors"))["id"])
    held = service.claim()
    service.beat(held, ("epoch", {"phase": "stage1", "epoch": 0, "epochs": 1, "metrics": {"loss": 1.0}}))
    model = service.publish(held, *trained("vectors"))
    assert service.http.get(f"/jobs/{job['id']}").json()["model_id"] == model
    numbers = [event["number"] for event in service.http.get(f"/jobs/{job['id']}/events").json()["data"]]
    assert numbers == [1, 2, 3, 4]
    assert service.http.get(f"/jobs/{job['id']}/transition").status_code == 200
    answer = service.http.post("/predict", json={"model": model, "inputs": [[0, 0, 0, 0]]})
    assert answer.status_code == 200


def test_a_deletion_and_a_job_that_race_leave_no_job_without_its_dataset(service, csv_file):
    for _ in range(5):
        dataset = service.upload(csv_file)["id"]
        turns = iter([service.http.delete, service.http.post, service.http.post])

        def send(turns=turns, dataset=dataset):
            verb = next(turns)
            if verb == service.http.delete:
                return verb(f"/datasets/{dataset}").status_code
            return verb("/jobs", json={"dataset_id": dataset}).status_code

        found = together(3, send)
        assert set(found) <= {202, 204, 409, 422}
        if 204 in found:
            listed = service.http.get("/jobs?state=queued").json()["data"]
            assert all(job["dataset_id"] is not None for job in listed), found
        for job in service.http.get("/jobs?state=queued").json()["data"]:
            service.http.post(f"/jobs/{job['id']}/cancel")


def test_retries_that_race_without_a_key_make_one_job(service, csv_file):
    old = service.job(service.upload(csv_file)["id"])["id"]
    service.end(service.claim(), "internal")
    answers = together(8, lambda: service.http.post(f"/jobs/{old}/retry"))
    assert sorted(answer.status_code for answer in answers) == [200] * 7 + [202]
    assert len({answer.json()["id"] for answer in answers}) == 1


def test_a_restarted_server_costs_a_reconnect_and_no_error(service, postgres_server, csv_file):
    dataset = service.upload(csv_file)["id"]
    service.job(dataset)
    postgres_server.kill()
    postgres_server.start()
    time.sleep(db.FRESH_SECONDS)
    service.job(dataset)


def test_an_outage_is_503_and_passes(service, postgres_server, csv_file):
    dataset = service.upload(csv_file)["id"]
    postgres_server.kill()
    try:
        answer = service.http.post("/jobs", json={"dataset_id": dataset})
        assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
        assert service.http.get("/readyz").status_code == 503
        assert service.http.get("/livez").status_code == 200
    finally:
        postgres_server.start()
    deadline = time.monotonic() + 60
    while service.http.get("/readyz").status_code != 200:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    service.job(dataset)
