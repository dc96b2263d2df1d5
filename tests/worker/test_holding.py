"""Keeping and ending a claim while the database comes and goes."""

import contextlib
import itertools
import threading
import time

import pytest
import sqlalchemy.exc
from workers import rows

from app.core import claims, db, jobs
from app.core.tables import Model
from worker import holding

AWAY = sqlalchemy.exc.OperationalError("COMMIT", {}, Exception("server closed the connection"))


class Faulty(db.Database):
    """A database whose next transactions end as told: "before" or "after" the commit the connection is lost."""

    def __init__(self, url):
        super().__init__(url)
        self.faults = []

    @contextlib.contextmanager
    def begin(self):
        fault = self.faults.pop(0) if self.faults else None
        if fault == "before":
            raise AWAY
        with super().begin() as tx:
            yield tx
        if fault == "after":
            raise AWAY


def hold(home, lease):
    home.job(home.dataset(rows()))
    home.db.close()
    home.db = Faulty(home.settings.database)
    return holding.Hold(home.db, home.claim(), lease=lease, since=time.monotonic())


@pytest.fixture
def held(home):
    """A claim whose lease outlasts any test, however busy the machine."""
    return hold(home, 60.0)


def model(claim):
    return Model(id="mdl_1", job_id=claim.job_id, name="m", folder="f", sha256="0" * 64, card={})


def keep_for(held, seconds):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        held.keep()
        time.sleep(0.05)


def test_a_commit_whose_answer_was_lost_counts_once(home, held):
    home.db.faults = ["before", "after"]
    held.settle(lambda tx: claims.succeed(tx, held.claim, {}, model(held.claim)))
    assert home.look(held.claim.job_id).state == "succeeded"
    assert len(home.models(held.claim.job_id)) == 1
    assert len(home.events(held.claim.job_id, "end")) == 1


def test_news_is_written_once_however_often_it_takes(home, held):
    held.note("epoch", {"epoch": 1})
    held.progress({"fraction": 0.5})
    home.db.faults = ["before", "before"]
    for _ in range(3):
        time.sleep(holding.NEWS_SECONDS)
        held.keep()
    assert home.events(held.claim.job_id, "epoch") == [{"epoch": 1}]
    assert home.look(held.claim.job_id).progress == {"fraction": 0.5}
    held.settle(lambda tx: claims.release(tx, held.claim))
    assert home.events(held.claim.job_id, "epoch") == [{"epoch": 1}]


def test_a_claim_is_given_up_when_the_database_is_away_for_longer_than_the_lease(home):
    began = time.monotonic()
    held = hold(home, 1.0)
    home.db.faults = ["before"] * 100
    with pytest.raises(claims.Lost):
        keep_for(held, 30)
    assert time.monotonic() - began >= 1.0
    with pytest.raises(claims.Lost):
        held.settle(lambda tx: claims.release(tx, held.claim))
    home.db.faults = []
    assert home.look(held.claim.job_id).state == "running"


def test_a_wish_to_cancel_is_learnt_by_keeping(home, held):
    with home.db.begin() as tx:
        jobs.request_cancel(tx, held.claim.job_id)
    time.sleep(holding.QUIET_SECONDS)
    held.keep()
    assert held.cancel


def test_keeping_writes_at_most_once_a_second_while_there_is_news(home, held, monkeypatch):
    written = []
    wishes = claims.Wishes(cancel=False)
    monkeypatch.setattr(claims, "beat", lambda *a, **k: written.append(time.monotonic()) or wishes)
    while len(written) < 3:
        held.note("epoch", {})
        held.keep()
    assert all(later - earlier > 0.99 for earlier, later in itertools.pairwise(written))


def test_a_server_that_is_killed_and_comes_back_keeps_the_claim(make_home, postgres_server):
    home = make_home(database_url=postgres_server.database(), lease_seconds=30)
    home.job(home.dataset(rows()))
    held = holding.Hold(home.db, home.claim(), lease=30, since=time.monotonic())
    postgres_server.kill()
    held.note("epoch", {"epoch": 1})
    time.sleep(1.1)
    held.keep()
    back = threading.Timer(1.0, postgres_server.start)
    back.start()
    held.settle(lambda tx: claims.succeed(tx, held.claim, {}, model(held.claim)))
    back.join()
    assert home.look(held.claim.job_id).state == "succeeded"
    assert home.events(held.claim.job_id, "epoch") == [{"epoch": 1}]
