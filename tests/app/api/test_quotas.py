"""How often and how much: requests a minute of a key, and the quotas of a project; 429 names what is used up."""

import threading
import time

import pytest
from sqlalchemy import func, select

from app.core import quotas, ratelimits
from app.core.tables import Dataset, Job


def refused(answer, code, quota=None):
    assert answer.status_code == 429, answer.text
    assert answer.json()["code"] == code
    assert int(answer.headers["Retry-After"]) > 0
    if quota:
        assert answer.json()["errors"][0]["code"] == quota
        assert quota in answer.json()["detail"]


@pytest.fixture
def tenant(shared):
    """Clients of new projects with these quotas."""
    opened = []

    def make(**limits):
        project = shared.project(**limits)
        opened.append(shared.client(shared.key(project_id=project)["secret"]))
        return opened[-1], project

    yield make
    [http.close() for http in opened]


def test_a_key_that_asks_too_often_is_told_when_to_come_back(shared):
    made = shared.key("read", requests_per_minute=5)
    with shared.client(made["secret"]) as http:
        answers = [http.get("/methods") for _ in range(7)]
    assert [answer.status_code for answer in answers] == [200] * 5 + [429] * 2
    assert [answer.headers["RateLimit-Limit"] for answer in answers] == ["5"] * 7
    assert [int(answer.headers["RateLimit-Remaining"]) for answer in answers[:5]] == [4, 3, 2, 1, 0]
    assert 0 < int(answers[4].headers["RateLimit-Reset"]) <= 60
    refused(answers[5], "rate_limited")
    assert int(answers[5].headers["Retry-After"]) <= 12
    assert "RateLimit-Limit" not in shared.http.get("/methods").headers  # the operator has no limit


def test_refusals_of_other_kinds_count_too(shared):
    with shared.client(shared.key("read", requests_per_minute=2)["secret"]) as http:
        assert [http.get("/nowhere").status_code for _ in range(3)] == [404, 404, 429]
        assert http.get("/livez").status_code == 200


def test_a_key_without_a_rate_of_its_own_has_the_settings(shared):
    assert shared.key("read")["requests_per_minute"] == shared.settings.limits.requests_per_minute


async def _take(buckets, times, rate=60):
    return [await buckets.take("key", rate) for _ in range(times)]


def test_a_bucket_fills_as_time_passes(monkeypatch):
    import anyio

    clock = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    buckets = ratelimits.Local()

    async def story():
        assert [one.granted for one in await _take(buckets, 3, rate=2)] == [True, True, False]
        clock[0] += 30.0  # half a minute, half of two
        assert [one.granted for one in await _take(buckets, 2, rate=2)] == [True, False]
        clock[0] += 600.0  # no more than full
        assert [one.granted for one in await _take(buckets, 3, rate=2)] == [True, True, False]

    anyio.run(story, backend_options={"use_uvloop": False})


def test_jobs_a_day(tenant, csv_file):
    http, _ = tenant(jobs_per_day=2)
    dataset = http.post("/datasets", content=csv_file).json()["id"]
    asked = [http.post("/jobs", json={"dataset_id": dataset}) for _ in range(3)]
    assert [answer.status_code for answer in asked] == [202, 202, 429]
    refused(asked[2], "quota_exceeded", "jobs_per_day")
    assert int(asked[2].headers["Retry-After"]) <= 86400
    assert http.post("/jobs?dry_run=true", json={"dataset_id": dataset}).status_code == 200
    assert len(http.get("/jobs").json()["data"]) == 2


def test_jobs_that_wait_and_a_retry_is_one_more(tenant, csv_file):
    http, _ = tenant(jobs_queued=1, jobs_per_day=None)
    dataset = http.post("/datasets", content=csv_file).json()["id"]
    job = http.post("/jobs", json={"dataset_id": dataset}).json()["id"]
    refused(http.post("/jobs", json={"dataset_id": dataset}), "quota_exceeded", "jobs_queued")
    assert http.post(f"/jobs/{job}/cancel").status_code == 200
    second = http.post(f"/jobs/{job}/retry")
    assert second.status_code == 202
    refused(http.post("/jobs", json={"dataset_id": dataset}), "quota_exceeded", "jobs_queued")


def test_racing_posts_do_not_pass_a_quota(shared, tenant, csv_file):
    http, project = tenant(jobs_per_day=3)
    dataset = http.post("/datasets", content=csv_file).json()["id"]
    found = []
    ask = lambda: found.append(http.post("/jobs", json={"dataset_id": dataset}).status_code)  # noqa: E731
    threads = [threading.Thread(target=ask) for _ in range(10)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert sorted(found) == [202] * 3 + [429] * 7
    with shared.database.read() as tx:
        assert tx.scalar(select(func.count()).select_from(Job).where(Job.project_id == project)) == 3


def test_bytes_of_files_until_they_are_deleted(shared, tenant, csv_file):
    size = len(csv_file)
    http, project = tenant(stored_bytes=size + 10)
    first = http.post("/datasets", content=csv_file).json()["id"]
    refused(http.post("/datasets", content=csv_file), "quota_exceeded", "stored_bytes")
    parts = iter([csv_file.encode()[:100], csv_file.encode()[100:]])
    refused(http.post("/datasets", content=parts), "quota_exceeded", "stored_bytes")  # no announced length
    with shared.database.read() as tx:
        assert tx.scalar(select(func.count()).select_from(Dataset).where(Dataset.project_id == project)) == 1
    assert {path.name for path in (shared.store.root / "datasets").iterdir()} >= {first}
    assert not list((shared.store.root / "tmp").iterdir())
    assert http.delete(f"/datasets/{first}").status_code == 204
    assert http.post("/datasets", content=csv_file).status_code == 201


def test_rows_predicted_a_day(shared, tenant, sources, trained):
    http, project = tenant(predictions_per_day=5)
    dataset = http.post("/datasets", content=sources("vectors")).json()["id"]
    job = http.post("/jobs", json={"dataset_id": dataset}).json()["id"]
    while (held := shared.claim()).job_id != job:
        shared.end(held)
    model = shared.publish(held, *trained("vectors"))

    def ask(rows):
        return http.post("/predict", json={"model": model, "inputs": [[0.0, 1.0, 2.0, 3.0]] * rows})

    assert ask(3).status_code == 200
    refused(ask(3), "quota_exceeded", "predictions_per_day")
    assert http.post("/predict", json={"model": model, "inputs": [["no", "row"]]}).status_code == 422
    assert ask(2).status_code == 200
    refused(ask(1), "quota_exceeded", "predictions_per_day")
    shared.app.state.ledger.write()
    refused(ask(1), "quota_exceeded", "predictions_per_day")
    with shared.database.read() as tx:
        assert quotas.used(tx, project, "predictions") == 5
    assert shared.http.get(f"/projects/{project}").json()["usage"]["predictions_today"] == 5


def test_a_project_that_is_posted_twice_with_a_key_is_one(shared):
    body, key = {"name": "once"}, {"Idempotency-Key": "project-1"}
    one, two = (shared.http.post("/projects", json=body, headers=key) for _ in range(2))
    assert (one.status_code, two.status_code) == (201, 201)
    assert (one.json(), one.headers["Location"]) == (two.json(), two.headers["Location"])
    other = shared.http.post("/projects", json={"name": "other"}, headers=key)
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")
    assert shared.http.post("/projects", json=body).json()["id"] != one.json()["id"]


def test_an_admin_sees_and_changes_quotas(shared, tenant, csv_file):
    http, project = tenant(jobs_per_day=0)
    dataset = http.post("/datasets", content=csv_file).json()["id"]
    refused(http.post("/jobs", json={"dataset_id": dataset}), "quota_exceeded", "jobs_per_day")
    changed = shared.http.patch(
        f"/projects/{project}", json={"name": "new", "quotas": {"jobs_per_day": None}}
    )
    assert changed.json()["quotas"]["jobs_per_day"] is None
    assert changed.json()["quotas"]["jobs_queued"] == shared.settings.limits.jobs_queued
    assert http.post("/jobs", json={"dataset_id": dataset}).status_code == 202
    shown = shared.http.get(f"/projects/{project}").json()
    assert shown["name"] == "new"
    assert shown["usage"]["jobs_queued"] == 1
    assert shown["usage"]["stored_bytes"] == len(csv_file)
    assert project in [row["id"] for row in shared.http.get("/projects?limit=100").json()["data"]]
    for wrong in ({"quotas": {"jobs_per_day": -1}}, {"quotas": {"cats": 1}}, {"name": ""}):
        assert shared.http.patch(f"/projects/{project}", json=wrong).status_code == 422
