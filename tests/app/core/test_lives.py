"""A job's life in SQL, on SQLite and on PostgreSQL: one owner at a time, one end, no gap in the events."""

import sqlite3
import threading
import time

import psycopg
import pytest
from sqlalchemy import func, select, update

from app.core import claims, datasets, db, errors, events, ids, jobs
from app.core.tables import Dataset, Intake, Job, Model, State

LEASE = 30.0


def dataset(database):
    with database.begin() as tx:
        made = Dataset(
            id=ids.new("ds"), name="d", state=Intake.ready, options={}, bytes=1, source_sha256="0" * 64
        )
        tx.add(made)
    return made


def queue(database, owner=None, **values):
    with database.begin() as tx:
        found = owner or tx.scalars(select(Dataset)).first()
        return jobs.create(tx, found, task="train", config={}, manifest={}, **values).id


def take(database, *, lease=LEASE, crash_limit=3, owner="w1", tasks=("train", "ingest")):
    with database.begin() as tx:
        return claims.claim(
            tx, owner=owner, tasks=tasks, lease=lease, crash_limit=crash_limit, **database.skip_locked()
        )


def state(database, job_id):
    with database.read() as tx:
        return tx.get(Job, job_id).state


def story(database, job_id):
    with database.read() as tx:
        found = events.page(tx, job_id, limit=1000)
    assert [event.number for event in found] == list(range(1, len(found) + 1))
    return [(event.type, event.data.get("state")) for event in found]


def expire(database):
    with database.begin() as tx:
        tx.execute(update(Job).where(Job.lease_until.is_not(None)).values(lease_until=db.now() - 1))


def test_a_job_goes_from_queued_to_succeeded_with_one_model(database):
    dataset(database)
    job_id = queue(database)
    held = take(database)
    with database.begin() as tx:
        claims.beat(tx, held, lease=LEASE, news=[("phase", {"phase": "stage1"})], progress={"fraction": 0.5})
    with database.begin() as tx:
        model = Model(id=ids.new("mdl"), job_id=job_id, name="m", folder="f", sha256="0" * 64, card={})
        claims.succeed(tx, held, {"kept": "stage2"}, model)
    assert story(database, job_id) == [
        ("state", "queued"),
        ("state", "running"),
        ("phase", None),
        ("end", "succeeded"),
    ]
    with database.read() as tx:
        job = tx.get(Job, job_id)
    assert job.created_at <= job.started_at <= job.finished_at
    assert (job.phase, job.progress, job.result) == (
        "stage1",
        {"fraction": 1.0, "eta_seconds": 0.0},
        {"kept": "stage2"},
    )


def test_of_many_racing_claims_each_job_is_won_once(database):
    dataset(database)
    wanted = {queue(database) for _ in range(12)}
    won, lock = [], threading.Lock()

    def race(number):
        while True:
            try:
                held = take(database, owner=f"w{number}")
            except Exception as exc:  # told to the main thread below
                held = exc
            with lock:
                won.append(held)
            if not isinstance(held, claims.Claim):
                return

    racers = [threading.Thread(target=race, args=(number,)) for number in range(6)]
    [racer.start() for racer in racers]
    [racer.join() for racer in racers]
    assert [held for held in won if isinstance(held, Exception)] == []
    taken = [held.job_id for held in won if held]
    assert sorted(taken) == sorted(wanted)


def test_the_highest_priority_is_claimed_first_and_then_the_oldest(database):
    dataset(database)
    first, second, urgent = queue(database), queue(database), queue(database, priority=5)
    assert [take(database).job_id for _ in range(3)] == [urgent, first, second]
    assert take(database) is None


def test_a_claim_takes_only_the_tasks_it_asks_for(database):
    dataset(database)
    queue(database)
    assert take(database, tasks=("ingest",)) is None


def test_a_silent_worker_s_job_is_taken_over_and_the_zombie_is_fenced(database):
    dataset(database)
    job_id = queue(database)
    zombie = take(database)
    assert take(database, owner="w2") is None
    expire(database)
    heir = take(database, owner="w2")
    assert (heir.job_id, heir.fence) == (job_id, zombie.fence + 1)
    acts = [
        lambda tx: claims.beat(tx, zombie, lease=LEASE, news=[("note", {})]),
        lambda tx: claims.succeed(
            tx, zombie, {}, Model(id=ids.new("mdl"), job_id=job_id, name="m", folder="f", sha256="", card={})
        ),
        lambda tx: claims.fail(tx, zombie, jobs.error("internal", "x")),
        lambda tx: claims.cancel(tx, zombie),
        lambda tx: claims.release(tx, zombie),
        lambda tx: claims.crash(tx, zombie, jobs.error("internal", "x"), crash_limit=3),
    ]
    for act in acts:
        with pytest.raises(claims.Lost), database.begin() as tx:
            act(tx)
    with database.read() as tx:
        assert tx.scalar(select(func.count()).select_from(Model)) == 0
    assert state(database, job_id) == State.running
    assert ("note", None) not in story(database, job_id)


def test_leases_run_by_the_database_s_clock(database, monkeypatch):
    dataset(database)
    queue(database)
    monkeypatch.setattr(time, "time", lambda: 0.0)
    held = take(database, lease=LEASE)
    with database.begin() as tx:
        assert abs(tx.get(Job, held.job_id).lease_until - tx.scalar(select(db.now())) - LEASE) < 10
    assert take(database) is None


@pytest.mark.parametrize("how", ["expires", "crashes"])
def test_a_crash_loop_ends_after_the_limit_and_a_checkpoint_starts_the_count_again(database, how):
    dataset(database)
    job_id = queue(database)

    def fall(held):
        if how == "expires":
            expire(database)
        else:
            with database.begin() as tx:
                claims.crash(tx, held, jobs.error("worker_lost", "killed"), crash_limit=3)

    fall(take(database))
    fall(take(database))
    held = take(database)
    with database.begin() as tx:
        claims.beat(tx, held, lease=LEASE, news=[("checkpoint", {"epoch": 1})])
    fall(held)
    fall(take(database))
    fall(take(database))
    assert take(database) is None
    with database.read() as tx:
        job = tx.get(Job, job_id)
    assert (job.state, job.error["code"], job.error["retriable"]) == (State.failed, "worker_lost", True)


def test_a_drain_gives_the_job_back_without_counting_against_it(database):
    dataset(database)
    job_id = queue(database)
    for _ in range(5):
        with database.begin() as tx:
            claims.release(tx, take_in(tx, database))
    assert state(database, job_id) == State.queued
    with database.read() as tx:
        assert (tx.get(Job, job_id).crashes, tx.get(Job, job_id).preemptions) == (0, 5)


def take_in(tx, database):
    return claims.claim(tx, owner="w", tasks=("train",), lease=LEASE, crash_limit=3, **database.skip_locked())


def test_want_of_memory_halves_the_batch_once_and_then_fails(database):
    dataset(database)
    job_id = queue(database)
    for expected in (State.queued, State.failed):
        held = take(database)
        with database.begin() as tx:
            claims.starve(tx, held, jobs.error("out_of_memory", "no memory"))
        assert state(database, job_id) == expected
    assert held.shrink == 1


def test_cancel_is_true_in_every_state(database):
    dataset(database)
    waiting, running, done = queue(database), queue(database), queue(database)

    def cancel(job_id):
        with database.begin() as tx:
            return jobs.request_cancel(tx, job_id).state

    assert cancel(waiting) == cancel(waiting) == State.cancelled
    held = take(database)
    assert held.job_id == running
    assert cancel(running) == cancel(running) == State.cancelling
    with database.begin() as tx:
        assert claims.beat(tx, held, lease=LEASE).cancel
    with database.begin() as tx:
        claims.cancel(tx, held)
    assert cancel(running) == State.cancelled
    held = take(database)
    with database.begin() as tx:
        claims.succeed(tx, held, {})
    with pytest.raises(errors.Conflict):
        cancel(done)
    assert [kind for kind, _ in story(database, running)].count("end") == 1
    with pytest.raises(errors.NotFound), database.begin() as tx:
        jobs.request_cancel(tx, ids.new("job"))


def test_a_cancel_wish_outlives_the_worker_that_should_have_obeyed(database):
    dataset(database)
    job_id = queue(database)
    take(database)
    with database.begin() as tx:
        jobs.request_cancel(tx, job_id)
    expire(database)
    assert take(database) is None
    assert state(database, job_id) == State.cancelled


@pytest.mark.parametrize("end", ["crash", "release", "starve"])
def test_a_job_that_should_stop_is_not_queued_again(database, end):
    dataset(database)
    job_id = queue(database)
    held = take(database)
    with database.begin() as tx:
        jobs.request_cancel(tx, job_id)
    why = jobs.error("worker_lost", "killed")
    with database.begin() as tx:
        {
            "crash": lambda: claims.crash(tx, held, why, crash_limit=1),
            "release": lambda: claims.release(tx, held),
            "starve": lambda: claims.starve(tx, held, why),
        }[end]()
    assert state(database, job_id) == State.cancelled


def test_only_ended_jobs_that_did_not_succeed_are_retried_and_as_new_jobs(database):
    dataset(database)
    job_id = queue(database, priority=3, name="m")
    with pytest.raises(errors.Conflict), database.begin() as tx:
        jobs.retry(tx, job_id, max_queue=10)
    with database.begin() as tx:
        jobs.request_cancel(tx, job_id)
    with database.begin() as tx:
        again, _ = jobs.retry(tx, job_id, max_queue=10)
    assert (again.retry_of, again.rank, again.name) == (job_id, -3, "m")
    assert state(database, job_id) == State.cancelled


def test_a_full_queue_refuses_and_keeps_what_it_has(database):
    dataset(database)
    queue(database)
    with pytest.raises(errors.TooMany):
        queue(database, max_queue=1)
    with database.read() as tx:
        assert claims.waiting(tx) == 1


def test_a_dataset_in_use_cannot_be_removed_and_a_job_outlives_its_dataset(database):
    made = dataset(database)
    job_id = queue(database)
    with pytest.raises(errors.Conflict), database.begin() as tx:
        datasets.remove(tx, made.id)
    with database.begin() as tx:
        jobs.request_cancel(tx, job_id)
    with database.begin() as tx:
        datasets.remove(tx, made.id)
    with database.read() as tx:
        assert tx.get(Job, job_id).dataset_id is None
    with pytest.raises(errors.Conflict), database.begin() as tx:
        jobs.retry(tx, job_id, max_queue=10)


def test_a_dataset_whose_reading_failed_for_good_is_refused(database):
    made = dataset(database)
    with database.begin() as tx:
        tx.execute(update(Dataset).values(state=Intake.validating))
        jobs.create(tx, made, task="ingest", config={}, manifest={})
    for _ in range(3):
        assert take(database, tasks=("ingest",)) is not None
        expire(database)
    assert take(database, tasks=("ingest",)) is None
    with database.read() as tx:
        found = tx.get(Dataset, made.id)
    assert (found.state, found.error["code"]) == (Intake.refused, "worker_lost")


def test_a_dataset_that_nobody_has_begun_to_read_can_be_removed(database):
    made = dataset(database)
    with database.begin() as tx:
        job_id = jobs.create(tx, made, task="ingest", config={}, manifest={}).id
    with database.begin() as tx:
        datasets.remove(tx, made.id)
    assert state(database, job_id) == State.cancelled
    assert take(database) is None


def test_a_connection_that_outlasts_the_close_ends_with_its_transaction(database):
    with database.read() as tx:
        held = tx.connection().connection.dbapi_connection
        database.close()
        assert tx.scalar(select(1)) == 1
    with pytest.raises((sqlite3.ProgrammingError, psycopg.OperationalError), match="closed"):
        held.execute("SELECT 1")
