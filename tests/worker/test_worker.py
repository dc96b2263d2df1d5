"""Real worker processes with the broker in memory, killed, frozen and stopped by signals."""

import time

import psutil
import pytest
import torch
from workers import descendants, gone, rows, trainers, until, wanted

from app.core import jobs
from c2s import pipeline
from c2s.commands import entry  # noqa: F401 - sets how threads wait, as a trainer does

LONG = wanted(20)


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory):
    """The weights' hash of the long job, trained by the library alone."""
    torch.set_num_threads(1)
    return pipeline.run(rows(), LONG, tmp_path_factory.mktemp("runs") / "run").card["sha256"]


def reached(home, worker, job_id, phase="stage1"):
    """Wait until a job is in a phase; returns its trainer."""
    until(lambda: {"phase": phase} in home.events(job_id, "phase"), explain=home.said)
    return until(lambda: trainers(worker.pid), explain=home.said)[0]


def loaded(process, library="torch"):
    return any(library in region.path for region in process.memory_maps())


def published(home, job_id):
    """The hash of the one model of a job that succeeded."""
    job = home.wait(job_id, "succeeded", "failed")
    assert job.state == "succeeded", job.error
    [model] = home.models(job_id)
    assert model.sha256 == job.result["sha256"]
    return model.sha256


def test_a_job_is_trained_by_a_worker_whose_own_processes_never_load_torch(home):
    job_id = home.job(home.dataset(rows()), wanted(3), name="first")
    worker = home.start()
    trainer = until(lambda: trainers(worker.pid), explain=home.said)[0]
    until(lambda: loaded(trainer))
    pool = psutil.Process(worker.pid).children()
    assert trainer.ppid() in [child.pid for child in pool]
    assert not any(loaded(process) for process in [psutil.Process(worker.pid), *pool])
    assert trainer.nice() > pool[0].nice()
    assert "C2S_HOME" not in trainer.environ()
    published(home, job_id)
    job, [model] = home.look(job_id), home.models(job_id)
    assert (job.attempts, job.crashes, job.owner, job.error) == (1, 0, None, None)
    assert job.progress["fraction"] == 1
    assert job.progress["epoch"] == job.progress["epochs"] == 3
    assert model.name == "first"
    assert model.card["method"] == "f-class2simi"
    assert [event["phase"] for event in home.events(job_id, "phase")] == [
        *("loading", "stage1", "transition", "stage2", "evaluation", "packaging")
    ]
    fractions = [event["fraction"] for event in home.events(job_id, "progress")]
    assert fractions == sorted(fractions)
    left = {path.name for path in home.store.at(model.folder).parents[1].iterdir()}
    assert left == {"run", "log.txt"}
    everyone = descendants(worker.pid)
    worker.terminate()
    assert worker.wait(30) == 0
    assert gone(everyone)


def test_a_job_survives_the_death_of_each_of_its_processes(home, undisturbed):
    job_id = home.job(home.dataset(rows()), LONG)
    worker = home.start()
    reached(home, worker, job_id).kill()
    until(lambda: home.look(job_id).fence == 2)
    trainer = until(lambda: trainers(worker.pid))[0]
    psutil.Process(trainer.ppid()).kill()  # the process of the pool
    until(lambda: gone([trainer]))
    until(lambda: home.look(job_id).fence == 3, explain=home.said)
    reached(home, worker, job_id, "stage2")
    everyone = descendants(worker.pid)
    worker.kill()
    until(lambda: gone(everyone))
    home.start()
    assert published(home, job_id) == undisturbed
    job = home.look(job_id)
    assert job.fence == job.attempts == 4
    after = home.events(job_id)[home.events(job_id).index({"state": "running", "attempt": 4}) :]
    assert {"phase": "stage2"} in after
    assert not [
        event for event in after if event.get("step") == "stage1"
    ]  # a finished stage is never run again
    until(lambda: home.store.attempts(job_id) == [4])  # what is pruned goes after the commit


def test_sigterm_gives_the_job_back_and_the_next_worker_ends_it(home, undisturbed):
    job_id = home.job(home.dataset(rows()), LONG)
    worker = home.start()
    reached(home, worker, job_id)
    everyone = descendants(worker.pid)
    worker.terminate()
    assert worker.wait(30) == 0
    assert gone(everyone)
    job = home.look(job_id)
    assert (job.state, job.owner, job.preemptions, job.crashes) == ("queued", None, 1, 0)
    home.start()
    assert published(home, job_id) == undisturbed
    second = [event for event in home.events(job_id, "epoch") if event["step"] == "stage1"]
    assert [event["epoch"] for event in second] == list(range(1, 21))  # none was trained twice


def test_a_worker_that_was_frozen_past_its_lease_publishes_nothing(make_home, undisturbed):
    home = make_home(lease_seconds=4)
    job_id = home.job(home.dataset(rows()), LONG)
    first = home.start()
    trainer = reached(home, first, job_id)
    supervisor = psutil.Process(trainer.ppid())
    supervisor.suspend()
    trainer.suspend()  # else it may end its training, and leave its heir nothing to gain
    psutil.Process(first.pid).suspend()  # its relay and its other process would take the job back
    home.start()
    until(lambda: home.look(job_id).fence == 2, explain=home.said)
    trainer.resume()
    supervisor.resume()
    until(lambda: gone([trainer]))
    psutil.Process(first.pid).resume()
    assert published(home, job_id) == undisturbed
    job = home.look(job_id)
    assert (job.fence, job.crashes) == (2, 0)
    assert "claim_lost" in home.said()


def test_two_slots_train_two_jobs_at_once_and_a_cancelled_one_ends(make_home):
    home = make_home(slots=2)
    dataset = home.dataset(rows())
    chosen = [home.job(dataset, wanted(500)) for _ in range(3)]
    worker = home.start()
    until(lambda: len(trainers(worker.pid)) == 2, explain=home.said)
    everyone = trainers(worker.pid)
    running = [job_id for job_id in chosen if home.look(job_id).state == "running"]
    assert len(running) == 2
    for job_id in chosen:
        with home.db.begin() as tx:
            jobs.request_cancel(tx, job_id)
    for job_id in chosen:
        home.wait(job_id, "cancelled")
        assert home.models(job_id) == []
        until(lambda: home.store.attempts(job_id) == [])  # noqa: B023 - asked at once
    assert gone(everyone)
    time.sleep(0.5)
    assert trainers(worker.pid) == []
