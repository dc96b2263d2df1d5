"""Keys, sessions, quotas and the audit on both databases: what is promised does not depend on which one it is."""

import threading
import time

import pytest
from sqlalchemy import func, select

from app.core import audit, db, errors, ids, jobs, keys, ownership, projects, quotas, sessions
from app.core.callers import Caller, Limits, Quotas
from app.core.tables import Dataset, Intake, Job

ALL = frozenset({"read", "write"})


def caller(database, **limits):
    with database.begin() as tx:
        project = projects.create(tx, "tenant", {})
    return Caller("key_x", project.id, ALL, Quotas(**limits), request_id="r")


def dataset(database, who):
    row = Dataset(
        id=ids.new("ds"),
        project_id=who.project_id,
        name="d",
        state=Intake.ready,
        options={},
        bytes=10,
        source_sha256="0" * 64,
    )
    with database.begin() as tx:
        tx.add(row)
    return row


def post(database, who, data):
    def make(tx):
        jobs.create(tx, data, task="train", config={}, manifest={}, by=who)
        quotas.take_job(tx, who)

    try:
        ownership.of(database, who).write(make)
    except quotas.Exceeded:
        return False
    return True


@pytest.mark.parametrize("limits", [{"jobs_per_day": 3}, {"jobs_queued": 3}])
def test_racing_jobs_do_not_pass_a_quota(database, limits):
    who = caller(database, **limits)
    data, made = dataset(database, who), []
    threads = [threading.Thread(target=lambda: made.append(post(database, who, data))) for _ in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert sum(made) == 3
    with database.read() as tx:
        assert tx.scalar(select(func.count()).select_from(Job)) == 3
        assert quotas.used(tx, who.project_id, "jobs") == 3


def test_bytes_are_those_of_the_project(database):
    who, other = caller(database, stored_bytes=25), caller(database, stored_bytes=25)
    dataset(database, who)
    dataset(database, who)
    with database.begin() as tx:
        quotas.take_bytes(tx, other, 25)
        quotas.take_bytes(tx, who, 5)
    with pytest.raises(quotas.Exceeded), database.begin() as tx:
        quotas.take_bytes(tx, who, 6)


def test_a_key_and_its_session_are_found_until_they_end(database):
    who = caller(database)
    with database.begin() as tx:
        made = {"name": "k", "project_id": who.project_id, "scopes": ["read"], "rate": 7}
        key, secret = keys.create(tx, expires_at=None, **made)
        brief, gone = keys.create(tx, expires_at=time.time() - 1, **made)
        value = sessions.open_(tx, key.id, keys.digest(secret))
    with database.read() as tx:
        found, left = keys.by_secret(tx, secret, Limits())
        assert (found.key_id, found.project_id, found.rate, left) == (key.id, who.project_id, 7, None)
        assert found.quotas.jobs_queued == Limits().jobs_queued
        assert keys.by_secret(tx, gone, Limits()) is None
        login, seconds = sessions.find(tx, value)
        assert login.key_id == key.id
        assert sessions.SECONDS - 60 < seconds <= sessions.SECONDS
    with database.begin() as tx:
        keys.revoke(tx, key.id)
        keys.touch(tx, {brief.id: time.time()})
        sessions.close(tx, value)
    with database.read() as tx:
        assert keys.by_secret(tx, secret, Limits()) is None
        assert sessions.find(tx, value) is None


def test_the_audit_puts_jobs_in_their_place(database):
    who = caller(database)
    data = dataset(database, who)
    with database.begin() as tx:
        audit.note(tx, who, "dataset.create", data.id, bytes=10)
    assert post(database, who, data)
    with database.begin() as tx:
        audit.note(tx, who, "dataset.delete", data.id)
    with ownership.of(database, who).read() as tx:
        found = audit.page(tx, after=None, limit=2)
        rest = audit.page(tx, after=found[-1].id, limit=2)
    assert [entry.action for entry in (*found, *rest)] == ["dataset.delete", "job.create", "dataset.create"]


def test_a_tenant_s_session_cannot_retry_what_is_not_its_own(database):
    who, thief = caller(database), caller(database)
    data = dataset(database, who)
    assert post(database, who, data)
    with database.begin() as tx:
        job_id = tx.scalar(select(Job.id))
        jobs.request_cancel(tx, job_id)

    def steal(tx):
        with db.mapped(tx, thief) as session:
            jobs.retry(session, job_id, max_queue=10, by=thief)

    with pytest.raises(errors.NotFound):
        ownership.of(database, thief).write(steal)
