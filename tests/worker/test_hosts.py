"""Workers on several hosts that share rows and a bucket, and no disk."""

import secrets

import pytest
from faulty_line import bucket_of
from slow import SLOW
from workers import rows, wanted

from app.core import stores
from c2s import cards
from worker import drain, saving, supervisor


@pytest.fixture
def make_host(make_home, line, monkeypatch):
    line.heal()
    made, first = bucket_of(line.url, f"hosts-{secrets.token_hex(4)}"), []

    def make(**more):
        shared = {"database_url": first[0].settings.database} if first else {}
        host = make_home(lease_seconds=30, **shared, **more)
        host.store = stores.BucketStore(host.settings.root / "cache", made, cache_bytes=2**30)
        first.append(host)
        return host

    yield make
    line.heal()
    made.close()


def dataset(host):
    name = host.dataset(rows())
    host.store.keep_dataset(name)
    return name


def test_a_job_that_one_host_gave_back_ends_on_another_with_the_same_weights(
    make_host, make_home, monkeypatch, sabotage
):
    epochs = 20
    alone = make_home()
    alone.job(alone.dataset(rows()), wanted(epochs))
    reference = alone.models(alone.do().id)[0].sha256
    here, there = make_host(), make_host()
    job_id = here.job(dataset(here), wanted(epochs))
    sabotage(start=SLOW)  # else it may end before its first state is in the bucket
    monkeypatch.setattr(saving, "PAUSE_SECONDS", 0.0)
    note = supervisor.Supervisor._note

    def told(self, states):  # the first state is safe: this host is to go
        note(self, states)
        if states and here.store is self._saver._save.func.__self__:
            monkeypatch.setattr(drain, "_told", True)

    monkeypatch.setattr(supervisor.Supervisor, "_note", told)
    job = here.do()
    assert (job.state, job.crashes) == ("queued", 0)
    monkeypatch.setattr(drain, "_told", False)
    job = there.do()
    assert (job.state, job.fence) == ("succeeded", 2), job.error
    (model,) = there.models(job_id)
    assert model.sha256 == reference
    resumed = [event for event in there.events(job_id, "epoch") if event["step"] == "stage1"]
    assert len(resumed) == epochs, "no epoch of the first stage ran twice"
    assert cards.verify(make_host().store.open_model(model.folder))["sha256"] == reference
    assert there.store.attempts(job_id) == [2]
    assert {piece.key for piece in there.store.pieces()} == {
        f"datasets/{job.dataset_id}",
        f"jobs/{job_id}",
        f"jobs/{job_id}/2",
    }


def test_a_store_that_is_away_when_a_job_begins_is_not_the_job_s_fault(make_host, line):
    here = make_host(crash_limit=1)
    here.job(dataset(here))
    there = make_host(crash_limit=1)
    line.break_(500)
    job = there.do()
    assert (job.state, job.crashes, job.error) == ("queued", 0, None)
    assert "store does not answer" in there.events(job.id, "state")[-1]["reason"]
    line.heal()
    assert there.do().state == "succeeded"


def test_a_store_that_takes_nothing_fails_the_job_at_the_limit_and_publishes_nothing(make_host, line):
    here = make_host(crash_limit=2)
    job_id = here.job(dataset(here))
    line.break_(500, method="PUT")
    job = here.do()
    assert (job.state, job.crashes) == ("queued", 1)
    assert here.events(job_id, "checkpoint") == [], "a state that no other host can reach counts for nothing"
    job = here.do()
    assert (job.state, job.error["code"]) == ("failed", "internal")
    assert "store does not answer" in job.error["message"]
    assert here.models(job_id) == []


def test_a_full_store_fails_the_job_as_such(make_host, line):
    here = make_host()
    here.job(dataset(here))
    line.break_(507, method="PUT")
    job = here.do()
    assert (job.state, job.error["code"]) == ("failed", "storage_full")


def test_changed_bytes_of_a_dataset_fail_the_job_before_it_begins(make_host, line):
    here = make_host()
    here.job(dataset(here))
    line.break_("change what comes", method="GET", path="x.npy")
    job = make_host(crash_limit=1).do()
    assert (job.state, job.error["code"]) == ("failed", "invalid_dataset")
