"""Faults of what we lean on: broker, database, network: F3 to F7, F16, F17, F23, and streams."""

import contextlib
import json
import random
import sqlite3
import threading
import time

import httpx
from celery import Celery
from process_faults import ends_alike
from service import LEASE, spec

from app.core import relay
from app.core.tables import State


def broker_down_at_submit(world, _moment):
    with world.service() as service:
        dataset = service.dataset()
        world.redis.kill()
        job = service.submit(dataset)
        _say_latency(world, service, dataset)
        time.sleep(2)
        assert service.row(job).state == State.queued
        world.redis.start()
        world.struck(service, job)
        ends_alike(world, service, job)
        return service.counters()


def broker_frozen(world, _moment):
    with world.service() as service:
        dataset = service.dataset()
        world.redis.freeze()
        try:
            jobs = [service.submit(dataset, epochs=(2, 2)) for _ in range(5)]
            _say_latency(world, service, dataset)
            assert all(service.client.get(f"/jobs/{job}").status_code == 200 for job in jobs)
            time.sleep(5)
            assert service.client.get("/livez").status_code == 200
        finally:
            world.redis.thaw()
        world.struck(service, jobs[0])
        for job in jobs:
            assert service.wait(job).state == State.succeeded
        return service.counters()


def _say_latency(world, service, dataset, posts=100):
    """How long a 202 takes just now; a figure to report: a busy machine must not fail a test."""
    body, took = spec(dataset, epochs=(2, 2)), []
    for _ in range(posts):
        began = time.monotonic()
        answer = service.client.post("/jobs", json=body)
        took.append(time.monotonic() - began)
        assert answer.status_code == 202, answer.text
        assert service.client.post(f"/jobs/{answer.json()['id']}/cancel").status_code == 200
    took.sort()
    middle, high = (1e3 * took[int(share * posts)] for share in (0.5, 0.99))
    world.say(f"{posts} x 202: p50 {middle:.0f} ms, p99 {high:.0f} ms")


def broker_killed(world, _moment):
    with world.service() as service:
        dataset = service.dataset()
        job = service.submit(dataset)
        service.reached(job, "stage1")
        world.redis.kill()
        time.sleep(3)
        world.redis.start()
        world.struck(service, job)
        ends_alike(world, service, job)
        assert service.row(job).attempts == 1
        assert service.workers[0].poll() is None
        after = service.submit(dataset)
        ends_alike(world, service, after)
        return service.counters()


def broker_flushed(world, _moment):
    with world.service(workers=0) as service:
        dataset = service.dataset()
        jobs = [service.submit(dataset, epochs=(2, 2)) for _ in range(8)]
        time.sleep(1)
        world.redis.flush()
        world.struck(service, jobs[0])
        service.start_worker()
        for job in jobs:
            assert service.wait(job, seconds=120).state == State.succeeded
        return service.counters()


def hints_forged(world, moment):
    """A thousand doorbells, some with arguments, some of tasks that do not exist, change nothing."""
    with world.service() as service:
        job = service.submit(service.dataset())
        sender = Celery(broker=world.redis.url, set_as_current=False)
        for number in range(int(moment)):
            sender.send_task(relay.TASK)
            if number % 10 == 0:
                sender.send_task(relay.TASK, args=["job_1", {"state": "succeeded"}])
                sender.send_task("os.system", args=["true"])
        sender.close()
        ends_alike(world, service, job)
        assert service.row(job).attempts == 1
        assert service.workers[0].poll() is None
        return service.counters()


IMPATIENT = """
import sys
from worker.__main__ import main
from worker.celery_app import app

app.conf.broker_transport_options = {**app.conf.broker_transport_options, "visibility_timeout": 1}
sys.exit(main([]))
"""


def visibility_short(world, _moment):
    """A job that outlasts the broker's patience with unacknowledged messages is not started twice."""
    folder = world.folder()
    (folder / "impatient.py").write_text(IMPATIENT)
    with world.service(workers=0) as service:
        for _ in range(2):
            service.start_worker("impatient", PYTHONPATH=f"{folder}:{world.python_path}")
        job = service.submit(service.dataset(), epochs=(400, 400))
        row = service.wait(job)
        assert (row.state, row.attempts) == (State.succeeded, 1), (row.error, service.tail())
        return service.counters()


def database_down(world, moment):
    with world.service() as service:
        dataset = service.dataset()
        job = service.submit(dataset)
        service.reached(job, "stage1")
        world.postgres.kill()
        answer = service.client.post("/jobs", json={"dataset_id": dataset})
        assert answer.status_code == 503, answer.text
        assert "Retry-After" in answer.headers
        assert service.client.get("/readyz").status_code == 503
        assert service.client.get("/livez").status_code == 200
        time.sleep({"short": 1.0, "beyond the lease": 2 * LEASE}[moment])
        world.postgres.start()
        world.struck(service, job)
        ends_alike(world, service, job)
        return service.counters()


def database_away_at_publish(world, moment):
    """The database goes between the trainer's end and the commit of the model: the supervisor is held meanwhile."""
    away = {"short": 0.5, "beyond the lease": 2 * LEASE}[moment.removeprefix("publish, ")]
    with world.service() as service:
        job = service.submit(service.dataset())
        trainer = service.trainer()
        supervisor = trainer.parent()
        service.until(lambda: "model" in service.folders(), what="a model folder")
        supervisor.suspend()
        service.until(lambda: not service.trainers(), 20, what="the trainer ends")
        assert service.row(job).state == State.running, "too late: the model is published"
        with _no_database(world, service):
            supervisor.resume()
            time.sleep(away)
        world.struck(service, job)
        ends_alike(world, service, job)
        attempts = service.row(job).attempts
        assert attempts == 1 or moment != "publish, short", attempts
        world.say(f"{attempts} attempts")
        return service.counters()


@contextlib.contextmanager
def _no_database(world, service):
    """PostgreSQL killed, or the SQLite file locked by somebody else."""
    if world.postgres is not None:
        world.postgres.kill()
        try:
            yield
        finally:
            world.postgres.start()
        return
    lock = sqlite3.connect(service.home / "c2s.sqlite3", isolation_level=None, timeout=10)
    lock.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        lock.execute("ROLLBACK")
        lock.close()


def writer_holds_lock(world, _moment):
    with world.service() as service:
        job = service.submit(service.dataset())
        service.reached(job, "stage1")
        lock = sqlite3.connect(service.home / "c2s.sqlite3", isolation_level=None)
        lock.execute("BEGIN IMMEDIATE")
        world.struck(service, job)
        timer = threading.Timer(5, lambda: None)
        timer.start()
        statuses = []
        asking = threading.Thread(
            target=lambda: statuses.append(service.client.post(f"/jobs/{job}/retry").status_code)
        )
        asking.start()
        timer.join()
        lock.execute("ROLLBACK")
        lock.close()
        asking.join()
        assert statuses[0] in (409, 503)
        ends_alike(world, service, job)
        return service.counters()


def api_restarted_under_predict(world, _moment):
    """Requests behind a client that tries again all succeed while the API restarts."""
    with world.service() as service:
        dataset = service.dataset()
        job = service.submit(dataset, epochs=(3, 3))
        service.wait(job)
        model = service.job(job)["model_id"]
        body = {"model": model, "inputs": [[0.0] * 6]}
        service.client.post("/predict", json=body)
        failed, done = [], threading.Event()

        def ask():
            with httpx.Client(base_url=service.client.base_url, headers=service.client.headers) as client:
                while not done.is_set():
                    failed.append(_asked(client, body))

        askers = [threading.Thread(target=ask) for _ in range(3)]
        [one.start() for one in askers]
        for _ in range(2):
            time.sleep(1)
            service.api.terminate()
            service.api.wait(30)
            service.start_api()
        time.sleep(1)
        done.set()
        [one.join() for one in askers]
        assert not any(failed), [one for one in failed if one][:3]
        world.say(f"{len(failed)} requests")
        return service.counters()


def _asked(client, body, tries=60):
    for _ in range(tries):
        try:
            answer = client.post("/predict", json=body, timeout=30)
        except httpx.TransportError:
            time.sleep(0.25)
            continue
        if answer.status_code == 200:
            return None
        if answer.status_code != 503:
            return answer.text
        time.sleep(0.25)
    return "never answered"


def stream_cut(world, moment):
    """Events read in pieces, cut at random and over a restarted API, are the same sequence: no gap, `end` once."""
    rng = random.Random(7)  # noqa: S311 - picks where to cut
    with world.service() as service:
        job = service.submit(service.dataset(), epochs=(120, 120))
        seen, last = [], "0"
        while not seen or seen[-1][1] != "end":
            take = rng.randint(1, 6)
            for number, kind in _stream(service, job, last, take):
                seen.append((number, kind))
                last = str(number)
            if (
                moment == "API restarted"
                and len(seen) > 5
                and service.api.poll() is None
                and rng.random() < 0.3
            ):
                service.api.kill()
                service.api.wait()
                service.start_api()
        assert [number for number, _ in seen] == list(range(1, len(seen) + 1))
        assert [kind for _, kind in seen].count("end") == 1
        headers = {"Accept": "text/event-stream", "Last-Event-ID": last}
        assert service.client.get(f"/jobs/{job}/events", headers=headers).status_code == 204
        return service.counters()


def _stream(service, job, last, most):
    headers = {"Accept": "text/event-stream", "Last-Event-ID": last}
    number, kind = 0, ""
    with service.client.stream("GET", f"/jobs/{job}/events", headers=headers) as stream:
        for line in stream.iter_lines():
            name, _, value = line.partition(": ")
            if name == "id":
                number = int(value)
            elif name == "event":
                kind = value
            elif name == "data":
                json.loads(value)
                yield number, kind
                most -= 1
            if most <= 0:
                return


def key_raced(world, _moment):
    """Two POSTs with one key at once make one job."""
    with world.service(workers=0) as service:
        dataset = service.dataset()
        made = []
        racers = [
            threading.Thread(target=lambda: made.append(service.submit(dataset, key="one", epochs=(2, 2))))
            for _ in range(8)
        ]
        [one.start() for one in racers]
        [one.join() for one in racers]
        assert len(made) == 8
        assert len(set(made)) == 1
        service.start_worker()
        assert service.wait(made[0]).state == State.succeeded
        return service.counters()
