"""/readyz names what is missing, tells what is merely degraded, and answers in time whatever hangs."""

import time

import pytest
from sqlalchemy import text, update

from app.api import health
from app.core import readiness, schema
from app.core.tables import Job


def look(service):
    answer = service.http.get("/readyz")
    body = answer.json()
    if answer.status_code == 200:
        return {"status": body["status"]} | {check["name"]: check["state"] for check in body["checks"]}
    assert (answer.status_code, body["code"]) == (503, "unavailable")
    assert int(answer.headers["Retry-After"]) > 0
    return {"status": 503} | {fault["code"]: fault["detail"] for fault in body["errors"]}


def test_all_is_well(service):
    ok = dict.fromkeys(("database", "migrations", "store", "worker"), "ok")
    assert look(service) == {"status": "ok"} | ok


@pytest.mark.parametrize(
    ("version", "status"),
    [(schema.revisions()[0], 503), ("9999", "degraded"), (schema.revisions()[-1], "ok")],
)
def test_a_schema_behind_is_missing_and_one_ahead_is_told(service, version, status):
    with service.database.begin() as tx:
        tx.execute(text("UPDATE alembic_version SET version_num = :v"), {"v": version})
    found = look(service)
    assert found["status"] == status
    if status == 503:
        assert "c2s migrate" in found["migrations"]
        assert found.keys() == {"status", "migrations"}


def test_a_full_store_is_told_and_one_that_cannot_be_written_is_missing(tmp_path, run_service):
    with run_service(tmp_path, min_free_bytes=2**62) as service:
        assert look(service)["store"] == "degraded"
        assert service.http.get("/jobs").status_code == 200
        service.app.state.store._min_free = 0
        (service.store.root / "tmp").rmdir()
        assert look(service) == {"status": 503, "store": "the store cannot be written"}


def test_a_broker_that_is_away_or_frozen_is_told_and_jobs_are_still_taken(
    tmp_path, run_service, redis_server, csv_file
):
    with run_service(tmp_path, broker_url=redis_server.url) as service:
        assert look(service)["broker"] == "ok"
        dataset = service.upload(csv_file)["id"]
        redis_server.freeze()
        try:
            began = time.monotonic()
            assert (look(service)["status"], look(service)["broker"]) == ("degraded", "degraded")
            assert time.monotonic() - began < 2 * health.PROBE_SECONDS + 2
            service.job(dataset)
        finally:
            redis_server.thaw()
        redis_server.kill()
        try:
            assert look(service)["broker"] == "degraded"
        finally:
            redis_server.start()


def test_jobs_that_nobody_takes_mean_that_no_worker_runs(service, csv_file):
    job = service.job(service.upload(csv_file)["id"])["id"]
    assert look(service)["worker"] == "ok"  # it has not waited long
    with service.database.begin() as tx:
        tx.execute(update(Job).values(created_at=Job.created_at - 60))
    assert look(service) | {"database": "ok"} == look(service)
    assert look(service)["worker"] == "degraded"
    held = service.claim()
    assert held.job_id == job
    service.job(service.http.get("/datasets").json()["data"][0]["id"])
    with service.database.begin() as tx:
        tx.execute(update(Job).values(created_at=Job.created_at - 60))
    assert look(service)["worker"] == "ok"  # somebody is at work


def test_what_hangs_is_named_in_time_and_holds_nobody_else_up(service, monkeypatch):
    real = readiness.looks

    def hanging(*known):
        return real(*known) | {"store": lambda: time.sleep(5)}

    monkeypatch.setattr(health, "PROBE_SECONDS", 0.5)
    monkeypatch.setattr(readiness, "looks", hanging)
    for _ in range(3):
        began = time.monotonic()
        assert look(service) == {"status": 503, "store": "no answer within 0.5 seconds"}
        assert time.monotonic() - began < 3
    assert service.http.get("/jobs").status_code == 200


def test_a_probe_tells_no_address_and_no_path(tmp_path, run_service):
    with run_service(tmp_path, broker_url="redis://:hunter22@127.0.0.1:9/0") as service:
        (service.store.root / "tmp").rmdir()
        told = service.http.get("/readyz").text
        for secret in ("hunter22", "127.0.0.1", str(tmp_path), "sqlite"):
            assert secret not in told
