"""Owners of jobs: alive until proven dead, and only from the same machine, boot and namespace."""

import os
import subprocess
import sys

import pytest
import workers

from app.core import claims
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
