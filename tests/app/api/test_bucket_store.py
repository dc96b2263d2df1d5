"""The API on a bucket: what it takes in reaches the bucket first, and what is wrong with that is an answer."""

import shutil
import time

import pytest
from faulty_line import Faulty

from app import doctor
from app.core import stores
from app.core.tables import Dataset, Job
from worker import runner


@pytest.fixture
def line(s3_server):
    proxy = Faulty(s3_server.port)
    yield proxy
    proxy.close()


@pytest.fixture
def told(s3_server, line, monkeypatch, tmp_path):
    for name, value in s3_server.environment(f"api/{tmp_path.name}").items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("C2S_S3_ENDPOINT", line.url)
    return {"store_url": f"s3://{s3_server.BUCKET}/api/{tmp_path.name}", "inline_bytes": 5000}


def post(service, blob):
    return service.http.post("/datasets", params={"name": "t"}, content=blob)


def count(service, table):
    with service.database.read() as tx:
        return tx.query(table).count()


def test_small_and_large_uploads_reach_the_bucket_and_leave_it_when_deleted(
    run_service, told, tmp_path, csv_file
):
    with run_service(tmp_path, **told) as service:
        assert service.http.get("/readyz").status_code == 200
        small, large = post(service, csv_file), post(service, csv_file * 10)
        assert (small.status_code, large.status_code) == (201, 202)
        store = stores.open_store(service.settings)
        names = {f"datasets/{answer.json()['id']}" for answer in (small, large)}
        assert {piece.key for piece in store.pieces()} == names
        for answer in (small, large):
            assert service.http.delete(f"/datasets/{answer.json()['id']}").status_code == 204
        assert list(store.pieces()) == []
        store.close()


def test_a_bucket_that_is_away_is_503_and_a_full_one_507_and_neither_leaves_a_row(
    run_service, told, tmp_path, csv_file, line
):
    with run_service(tmp_path, **told) as service:
        for status, code in ((503, "unavailable"), (507, "storage_full")):
            line.break_(status, method="PUT")
            for blob in (csv_file, csv_file * 10):
                answer = post(service, blob)
                assert (answer.status_code, answer.json()["code"]) == (status, code)
                assert "Retry-After" in answer.headers
        line.break_(500)
        ready = service.http.get("/readyz")
        assert (ready.status_code, ready.json()["code"]) == (503, "unavailable")
        assert (count(service, Dataset), count(service, Job)) == (0, 0)
        line.heal()
        assert list((tmp_path / "cache" / "tmp").iterdir()) == []
        store = stores.open_store(service.settings)
        assert list(store.pieces()) == []
        store.close()


def test_an_api_whose_bucket_is_away_starts_and_says_what_is_missing(run_service, told, tmp_path, line):
    line.break_("reset")
    with run_service(tmp_path, **told) as service:
        assert service.http.get("/jobs").status_code == 200
        assert service.http.get("/readyz").status_code == 503


def test_a_version_is_exported_from_the_bucket_and_leaves_it_when_deleted(
    run_service, told, tmp_path, sources, trained
):
    with run_service(tmp_path, **told | {"inline_bytes": 10**6}) as service:
        service.job(service.upload(sources("vectors"))["id"], name="m")
        held = service.claim()
        model = service.publish(held, *trained("vectors"))
        store = stores.open_store(service.settings)
        store.keep_model(held.job_id, held.fence)
        shutil.rmtree(service.settings.store / "jobs")  # this host never had it
        first, second = (service.http.get("/models/m/export") for _ in range(2))
        assert (first.status_code, first.content) == (200, second.content)
        assert any(piece.key.startswith("jobs/") for piece in store.pieces())
        assert service.http.delete(f"/models/{model}").status_code == 204
        assert not any(piece.key.startswith("jobs/") for piece in store.pieces())
        assert not (service.settings.store / "jobs" / held.job_id).exists()
        store.close()


def test_a_file_of_rows_and_its_predictions_live_in_the_bucket(
    run_service, told, tmp_path, csv_file, trained
):
    with run_service(tmp_path, **told) as service:
        store = stores.open_store(service.settings)
        dataset = service.upload(csv_file)["id"]
        service.job(dataset)
        held = service.claim()
        model = service.publish(held, *trained("tabular"))
        store.keep_model(held.job_id, held.fence)
        query = {"model": model}
        made = service.http.post("/predictions", params=query, content="a,b,c\n" + "1,2,x\n" * 9).json()["id"]
        assert f"jobs/{made}/0" in {piece.key for piece in store.pieces()}
        since, held = time.monotonic(), service.claim()
        runner.run(runner.Site(service.settings, service.database, store), held, since=since)
        told = service.http.get(f"/predictions/{made}").json()
        assert (told["state"], told["rows"]) == ("succeeded", 9), told
        assert f"jobs/{made}/0" not in {piece.key for piece in store.pieces()}
        assert [
            found for found in doctor.examine(service.database, store, young=0) if made in found.key
        ] == []
        shutil.rmtree(store.root / "jobs" / made)  # the copy of this host
        text = service.http.get(f"/predictions/{made}/results").text
        assert len(text.splitlines()) == 10
        assert service.http.delete(f"/predictions/{made}").status_code == 204
        assert not any(made in piece.key for piece in store.pieces())
        store.close()
