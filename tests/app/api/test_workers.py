"""Workers over HTTP: those that are there, free or not, and what became of others."""

import pytest
from sqlalchemy import update

from app import doctor
from app.core import ids, workers
from app.core.db import now
from app.core.ownership import Worker

PLACE = "host:boot:pid-4026531836"
FACTS = {"processes": [12, 13], "device": "auto", "slots": 1, "version": "0.1.0"}


@pytest.fixture
def told(service):
    """Lets a worker tell of itself: its id."""

    def tell(owner=f"{PLACE}:11:456", **facts):
        name = ids.new("wrk")
        with service.database.begin() as tx:
            workers.beat(tx, name, owner, FACTS | facts)
        return name

    return tell


def listed(service, **query):
    return service.http.get("/workers", params=query).json()["data"]


def silence(service, name, seconds):
    with service.database.begin() as tx:
        tx.execute(update(Worker).where(Worker.id == name).values(seen_at=now() - seconds))


def test_a_worker_that_is_free_is_listed(service, told):
    assert listed(service) == []
    name = told()
    (one,) = listed(service)
    assert {key: one[key] for key in ("id", "host", "process", "state", "jobs", "device", "slots")} == {
        "id": name, "host": "host", "process": 11, "state": "idle", "jobs": [], "device": "auto", "slots": 1,
    }  # fmt: skip
    assert one["seen_at"] >= one["created_at"]


def test_a_worker_is_busy_with_the_jobs_that_its_processes_hold(service, told, csv_file):
    told(processes=[22])
    job = service.job(service.upload(csv_file)["id"])
    held = service.claim(owner=f"{PLACE}:12:99")
    told()
    assert [(one["state"], one["jobs"]) for one in listed(service)] == [("busy", [job["id"]]), ("idle", [])]
    service.end(held)
    assert {one["state"] for one in listed(service)} == {"idle"}


def test_a_worker_that_is_busy_for_another_project_is_busy_and_its_job_is_not_named(service, told, csv_file):
    told()
    job = service.job(service.upload(csv_file)["id"])["id"]
    service.claim(owner=f"{PLACE}:12:99")
    admin = service.key("admin", project_id=service.project())["secret"]
    with service.client(admin) as stranger:
        answer = stranger.get("/workers")
    assert [one["state"] for one in answer.json()["data"]] == ["busy"]
    assert answer.json()["data"][0]["jobs"] == []
    assert job not in answer.text


def test_a_worker_that_falls_silent_is_called_so_and_in_the_end_forgotten(service, told):
    name = told()
    silence(service, name, workers.SILENT_SECONDS + 1)
    assert listed(service)[0]["state"] == "silent"
    janitor = doctor.Janitor(service.database, service.store)
    janitor.clean()
    assert len(listed(service)) == 1
    silence(service, name, workers.FORGOTTEN_SECONDS + 1)
    janitor.clean()
    assert listed(service) == []


def test_a_beat_renews_and_an_end_removes(service, told):
    name = told()
    silence(service, name, workers.SILENT_SECONDS + 1)
    with service.database.begin() as tx:
        workers.beat(tx, name, f"{PLACE}:11:456", FACTS | {"slots": 4})
    (one,) = listed(service)
    assert (one["state"], one["slots"]) == ("idle", 4)
    with service.database.begin() as tx:
        workers.leave(tx, name)
    assert listed(service) == []


def test_workers_come_in_pages(service, told):
    made = [told() for _ in range(3)]
    first = service.http.get("/workers", params={"limit": 2}).json()
    assert [one["id"] for one in first["data"]] == made[:0:-1]
    rest = service.http.get("/workers", params={"limit": 2, "after": first["next_cursor"]}).json()
    assert [one["id"] for one in rest["data"]] == made[:1]
