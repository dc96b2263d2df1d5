"""Owners of jobs: alive until proven dead, and only from the same machine, boot and namespace."""

import os
import subprocess
import sys
import time

import pytest
import workers
from sqlalchemy import select, text

from app.core import claims
from app.core import workers as workers_seen
from app.core.ownership import Worker
from app.core.tables import Job
from worker import bell, owners


def elsewhere(**more):
    host, boot, space, pid, start = owners.me().split(":")
    known = {"host": host, "boot": boot, "space": space, "pid": pid, "start": start} | more
    return ":".join(known.values())


def test_a_living_process_is_not_dead():
    assert not owners.dead(owners.me())
    assert len(owners.me()) <= 200


def test_a_number_that_another_process_has_now_does_not_hide_a_death():
    assert owners.dead(elsewhere(start="1"))


def test_what_cannot_be_judged_from_here_is_not_dead():
    gone = {"pid": "4194303"}  # beyond every process there is
    assert owners.dead(elsewhere(**gone))
    assert not owners.dead(elsewhere(**gone, boot="another"))
    assert not owners.dead(elsewhere(**gone, space="pid-1"))
    assert not owners.dead(elsewhere(**gone, host="another"))
    assert not owners.dead("somebody")
    assert not owners.dead("a-host:12")


def test_a_process_is_dead_before_it_is_reaped():
    child = subprocess.Popen(
        [sys.executable, "-c", "from worker import owners; print(owners.me(), flush=True); input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=workers.ROOT,
    )
    named = child.stdout.readline().strip()
    assert not owners.dead(named)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert owners.dead(named)
    child.communicate()
    assert owners.dead(named)


@pytest.fixture
def ringing(make_home):
    home = make_home(lease_seconds=600)
    looking = bell.Bell(home.settings)
    looking._ring = lambda: None
    return home, looking


def owned_by(home, owner):
    home.job(home.dataset(workers.rows()))
    with home.db.begin() as tx:
        return claims.claim(tx, owner=owner, tasks=("train",), lease=600, crash_limit=3)


def test_a_job_of_a_dead_process_is_free_at_once_and_its_fence_still_rules(ringing):
    home, looking = ringing
    held = owned_by(home, elsewhere(start="1"))
    assert looking.look() == 1
    with (
        home.db.begin() as tx
    ):  # not taken yet: a write that was under way when its process died still counts
        claims.beat(tx, held, lease=0.0)
    heir = home.claim()
    assert (heir.job_id, heir.fence) == (held.job_id, held.fence + 1)
    with pytest.raises(claims.Lost), home.db.begin() as tx:
        claims.release(tx, held)


def test_a_job_of_the_living_or_of_strangers_is_left_alone(ringing):
    home, looking = ringing
    for owner in (owners.me(), elsewhere(boot="another", start="1")):
        held = owned_by(home, owner)
        before = home.look(held.job_id).lease_until
        assert looking.look() == 0
        assert home.look(held.job_id).lease_until == before
        with home.db.begin() as tx:
            tx.query(Job).filter(Job.id == held.job_id).update({"owner": None})


def known(home):
    with home.db.read() as tx:
        return list(tx.scalars(select(Worker)))


def test_a_worker_tells_that_it_is_there_although_it_has_nothing_to_do(ringing, monkeypatch):
    home, looking = ringing
    looking.look()
    (told,) = known(home)
    assert told.owner == owners.me()
    looking.look()
    assert known(home)[0].seen_at == told.seen_at, "seldom: a write at every look would wake the disk"
    monkeypatch.setattr(looking, "_due", time.monotonic())
    looking.look()
    (again,) = known(home)
    assert again.seen_at > told.seen_at
    assert again.created_at == told.created_at


def test_a_worker_forgets_those_that_died_here_and_no_others(ringing):
    home, looking = ringing
    facts = {"processes": [], "device": "auto", "slots": 1, "version": "0"}
    strange = "other-host:boot:pid-1:11:1"
    with home.db.begin() as tx:
        workers_seen.beat(tx, "wrk_dead", elsewhere(start="1"), facts)
        workers_seen.beat(tx, "wrk_strange", strange, facts)
    looking.look()
    assert {one.owner for one in known(home)} == {strange, owners.me()}


def test_a_worker_that_stops_takes_its_row_with_it(ringing):
    home, looking = ringing
    looking.look()
    looking.stop()
    looking.run()
    assert known(home) == []


def test_jobs_are_looked_for_where_no_row_of_a_worker_can_be_written(ringing):
    home, looking = ringing
    home.job(home.dataset(workers.rows()))
    with home.db.begin() as tx:
        tx.execute(text("DROP TABLE workers"))  # as before its migration
    assert looking.look() == 1
