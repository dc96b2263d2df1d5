"""The events of a job: pages and streams of one sequence without gaps."""

import json
import threading
import time

import httpx
import numpy as np
import pytest
from sqlalchemy import delete

from app.api import events
from app.core.tables import Event, Job

STREAM = {"Accept": "text/event-stream"}


@pytest.fixture
def held(service, csv_file):
    service.job(service.upload(csv_file)["id"])
    return service.claim()


def frames(lines):
    """Server-sent events as (id, type, data)."""
    frame = {}
    for line in lines:
        if line.startswith(":") or line.startswith("retry:"):
            continue
        if line:
            name, _, value = line.partition(": ")
            frame[name] = value
        elif frame:
            yield int(frame["id"]), frame["event"], json.loads(frame["data"])
            frame = {}


def stream(service, held, *, after=None, query=""):
    head = STREAM | ({} if after is None else {"Last-Event-ID": str(after)})
    with service.http.stream("GET", f"/jobs/{held.job_id}/events{query}", headers=head) as answer:
        assert answer.status_code == 200
        assert answer.headers["Content-Type"].startswith("text/event-stream")
        yield from frames(answer.iter_lines())


def epochs(service, held, count, first=0):
    for number in range(first, first + count):
        service.beat(held, ("epoch", {"phase": "stage1", "epoch": number, "epochs": count, "metrics": {}}))


def test_pages_hold_every_event_once(service, held):
    epochs(service, held, 10)
    found, after = [], 0
    while True:
        page = service.http.get(f"/jobs/{held.job_id}/events", params={"limit": 3, "after": after}).json()
        found += page["data"]
        if not page["has_more"]:
            break
        after = page["next_cursor"]
        assert after == str(found[-1]["number"])  # text, as the cursor of every list
    assert [event["number"] for event in found] == list(range(1, 13))
    assert [event["type"] for event in found] == ["state", "state"] + ["epoch"] * 10
    assert found[0]["data"] == {"state": "queued"}
    assert found[0]["at"].endswith("Z")


def test_a_stream_ends_with_the_job(service, held):
    epochs(service, held, 3)
    service.end(held, "diverged")
    found = list(stream(service, held))
    assert [number for number, _, _ in found] == list(range(1, 7))
    assert [kind for _, kind, _ in found].count("end") == 1
    assert found[-1][1:] == ("end", found[-1][2])
    assert found[-1][2]["data"]["error"]["code"] == "diverged"
    assert found[2][2]["type"] == "epoch"


def test_a_client_that_has_the_end_is_told_not_to_come_back(service, held):
    service.end(held, "diverged")
    last = list(stream(service, held))[-1][0]
    for after in (last, last + 1000):
        answer = service.http.get(
            f"/jobs/{held.job_id}/events", headers=STREAM | {"Last-Event-ID": str(after)}
        )
        assert (answer.status_code, answer.content) == (204, b"")
    assert service.http.get(f"/jobs/{held.job_id}/events?after={last}").json()["data"] == []


def test_a_stream_that_is_not_wanted_is_none(service, held):
    for accept in ("application/json, text/event-stream;q=0", "text/event-stream;q=0.5, application/json"):
        answer = service.http.get(f"/jobs/{held.job_id}/events", headers={"Accept": accept})
        assert answer.headers["Content-Type"] == "application/json"


def test_the_header_wins_over_the_address(service, held):
    epochs(service, held, 5)
    service.end(held, "diverged")
    assert next(stream(service, held, query="?after=2"))[0] == 3
    assert next(stream(service, held, query="?after=2", after=5))[0] == 6


def test_streams_that_break_anywhere_resume_without_gap_or_duplicate(service, held):
    def work():
        epochs(service, held, 40)
        time.sleep(1)
        epochs(service, held, 20, first=40)
        service.end(held, "internal")

    worker = threading.Thread(target=work)
    worker.start()
    dice, found = np.random.default_rng(7), []
    while not found or found[-1][1] != "end":
        patience = int(dice.integers(1, 25))
        for event in stream(service, held, after=found[-1][0] if found else None):
            found.append(event)
            patience -= 1
            if patience == 0:
                break  # the connection is closed with the rest unread
    worker.join(60)
    assert [number for number, _, _ in found] == list(range(1, 64))


def test_more_events_than_a_look_holds_all_arrive(service, held, monkeypatch):
    monkeypatch.setattr(events, "BATCH", 7)
    epochs(service, held, 40)
    service.end(held, "internal")
    assert [number for number, _, _ in stream(service, held)] == list(range(1, 44))


def test_a_silent_stream_is_kept_open_by_comments(service, held, monkeypatch):
    monkeypatch.setattr(events, "HEARTBEAT_SECONDS", 0.5)
    with service.http.stream("GET", f"/jobs/{held.job_id}/events", headers=STREAM) as answer:
        seen = 0
        for line in answer.iter_lines():
            seen += line.startswith(":")
            if seen == 2:
                break
    assert seen == 2


def test_a_stream_ends_with_the_key_that_opened_it(service, held):
    key = service.key("read")
    with (
        service.client(key["secret"], **STREAM) as reader,
        reader.stream("GET", f"/jobs/{held.job_id}/events") as answer,
    ):
        found = frames(answer.iter_lines())
        assert next(found)[1] == "state"
        assert service.http.delete(f"/keys/{key['id']}").status_code == 204
        time.sleep(2 * events.POLL_SECONDS)
        epochs(service, held, 3)
        assert [kind for _, kind, _ in found if kind == "epoch"] == []


def test_a_stream_of_a_job_that_is_deleted_ends(service, held):
    with service.http.stream("GET", f"/jobs/{held.job_id}/events", headers=STREAM) as answer:
        found = frames(answer.iter_lines())
        assert next(found)[1] == "state"
        with service.database.begin() as tx:
            tx.execute(delete(Event).where(Event.job_id == held.job_id))
            tx.execute(delete(Job).where(Job.id == held.job_id))
        assert [kind for _, kind, _ in found] == ["state"]  # of the claim; and no broken connection


def test_many_streams_do_not_starve_the_handlers(service, held):
    streams = [threading.Thread(target=lambda: list(stream(service, held)), daemon=True) for _ in range(60)]
    with httpx.Client(
        base_url=service.address,
        headers=service.http.headers,
        timeout=60,
        limits=httpx.Limits(max_connections=None),
    ) as crowd:
        service.http, one = crowd, service.http
        for thread in streams:
            thread.start()
        time.sleep(1)
        assert one.get("/readyz").status_code == 200
        service.end(held, "internal")
        for thread in streams:
            thread.join(60)
    assert not any(thread.is_alive() for thread in streams)


@pytest.mark.parametrize("wrong", ["x", "-1", "99999999999999999999"])
def test_a_place_that_is_none_is_422(service, held, wrong):
    answer = service.http.get(f"/jobs/{held.job_id}/events", headers=STREAM | {"Last-Event-ID": wrong})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["parameter"].lower() == "last-event-id"
