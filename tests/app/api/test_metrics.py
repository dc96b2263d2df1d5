"""Figures for Prometheus: what is counted, under which names, and what a scrape costs the database."""

import httpx
import pytest
import structlog
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import event, text, update
from sqlalchemy.exc import DBAPIError

from app.core import census, metrics
from app.core.tables import Job


def scrape(http):
    answer = http.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == metrics.CONTENT_TYPE
    return {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def requests(found, method, route, status):
    labels = sorted({"method": method, "route": route, "status": str(status)}.items())
    return found.get(("c2s_requests_total", *labels), 0)


def test_requests_are_counted_by_route_and_never_by_path(shared, csv_file):
    before = scrape(shared.http)
    dataset = shared.upload(csv_file)["id"]
    job = shared.job(dataset)["id"]
    for _ in range(3):
        shared.http.get(f"/jobs/{job}")
    for word in ("alpha", "beta"):
        shared.http.get(f"/nothing-{word}?secret={word}")
    shared.http.request("BREW", "/jobs")
    after = scrape(shared.http)

    def grown(*labels):
        return requests(after, *labels) - requests(before, *labels)

    assert grown("POST", "/datasets", 201) == 1
    assert grown("POST", "/jobs", 202) == 1
    assert grown("GET", "/jobs/{job_id}", 200) == 3
    assert grown("GET", "none", 404) == 2
    assert not any(part in str(key) for key in after for part in ("alpha", "beta", "BREW", job, dataset))
    seconds = ("c2s_request_seconds_count", ("method", "GET"), ("route", "/jobs/{job_id}"))
    assert after[seconds] - before.get(seconds, 0) == 3
    assert after["c2s_uploads_bytes_total",] - before["c2s_uploads_bytes_total",] == len(csv_file)
    assert after["c2s_intake_seconds_count",] - before["c2s_intake_seconds_count",] == 1


def test_predictions_are_counted_with_their_sizes(shared, published):
    model, _ = published("vectors")
    before = scrape(shared.http)
    answer = shared.http.post("/predict", json={"model": model, "inputs": [[0.0, 1.0, 2.0, 3.0]] * 5})
    assert answer.status_code == 200
    after = scrape(shared.http)
    assert after["c2s_predict_batch_size_sum",] - before["c2s_predict_batch_size_sum",] == 5
    assert after["c2s_predict_seconds_count",] - before["c2s_predict_seconds_count",] == 1


def test_figures_need_the_token_like_everything_else(shared):
    assert httpx.get(f"{shared.address}/metrics").status_code == 401


def test_jobs_are_counted_from_rows_and_looked_at_every_other_second(service, csv_file, monkeypatch):
    looks = []
    assert census.KEPT_SECONDS == 2
    monkeypatch.setattr(census, "KEPT_SECONDS", 600.0)  # five scrapes may take a busy machine longer than two

    @event.listens_for(service.app.state.database.reader, "before_cursor_execute")
    def note(_connection, _cursor, statement, *_):
        if "GROUP BY jobs.task" in statement:
            looks.append(statement)

    dataset = service.upload(csv_file)["id"]
    for _ in range(3):
        service.job(dataset)
    service.http.post(f"/jobs/{service.job(dataset)['id']}/cancel")
    held = service.claim()
    with service.database.begin() as tx:
        tx.execute(update(Job).values(created_at=Job.created_at - 100))
    found = [scrape(service.http) for _ in range(5)][-1]
    states = {dict(key[1:])["state"]: value for key, value in found.items() if ("task", "train") in key[1:-1]}
    assert found["c2s_jobs", ("state", "queued"), ("task", "train")] == 2
    assert found["c2s_jobs", ("state", "running"), ("task", "train")] == 1
    assert found["c2s_jobs", ("state", "cancelled"), ("task", "train")] == 1
    assert found["c2s_jobs", ("state", "queued"), ("task", "ingest")] == 0
    assert states == {}
    assert found["c2s_queue_depth", ("task", "train")] == 2
    assert 100 <= found["c2s_queue_age_seconds", ("task", "train")] < 160
    assert found["c2s_queue_age_seconds", ("task", "ingest")] == 0
    assert found["c2s_database_up",] == 1
    assert len(looks) == 1
    service.end(held)
    monkeypatch.setattr(service.app.state.census, "_until", 0.0)  # two seconds later
    assert scrape(service.http)["c2s_jobs", ("state", "cancelled"), ("task", "train")] == 2


def test_counting_reads_an_index_and_no_row(service):
    with service.database.read() as tx:
        plans = []
        event.listen(service.database.reader, "before_cursor_execute", lambda *a: plans.append(a[2:4]))
        census.take(tx)
        told = [
            " ".join(
                str(row[-1]) for row in tx.connection().exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}", values)
            )
            for sql, values in list(plans)
            if sql.startswith("SELECT")
        ]
    assert "COVERING INDEX ix_jobs_task_state_id" in told[0]
    assert told[1].count("ix_jobs_task_state_id (task=? AND state=?)") == 3  # tasks
    assert "TEMP B-TREE" not in " ".join(told)


def test_without_a_database_the_figures_of_the_process_are_still_told(tmp_path, run_service):
    with run_service(tmp_path) as service:
        service.app.state.database.close()
        for name in ("c2s.sqlite3", "c2s.sqlite3-wal", "c2s.sqlite3-shm"):
            (tmp_path / name).unlink(missing_ok=True)
        (tmp_path / "c2s.sqlite3").mkdir()
        found = scrape(service.http)
        assert found["c2s_database_up",] == 0
        assert not any(key[0] == "c2s_jobs" for key in found)
        assert any(key[0] == "c2s_requests_total" for key in scrape(service.http))


def test_a_job_is_counted_as_ended_when_its_transaction_ends(service, csv_file):
    def count(state, code=""):
        labels = (("code", code), ("state", state))
        return scrape(service.http).get(("c2s_jobs_finished_total", *labels), 0)

    before = count("failed", "diverged"), count("cancelled")
    dataset = service.upload(csv_file)["id"]
    service.job(dataset)
    service.end(service.claim(), error="diverged")
    service.http.post(f"/jobs/{service.job(dataset)['id']}/cancel")
    with pytest.raises(DBAPIError), service.database.begin() as tx:
        metrics.finished(tx, "cancelled") or tx.execute(text("SELECT wrong"))
    assert (count("failed", "diverged"), count("cancelled")) == (before[0] + 1, before[1] + 1)


def test_each_request_is_one_line_without_path_query_or_body(service, csv_file):
    with structlog.testing.capture_logs() as lines:
        service.http.get("/datasets?limit=7", headers={"X-Request-ID": "mine-1"})
        service.http.get("/hidden-path?token=hunter22hunter22")
        service.http.get("/livez")
    told = [line for line in lines if line["event"] == "request"]
    assert [(line["method"], line["route"], line["status"], line["log_level"]) for line in told] == [
        ("GET", "/datasets", 200, "info"),
        ("GET", "none", 404, "info"),
        ("GET", "/livez", 200, "debug"),
    ]
    assert told[0]["request_id"] == "mine-1"
    assert told[0]["seconds"] > 0
    assert "hunter22" not in str(lines)
    assert "hidden-path" not in str(told)
