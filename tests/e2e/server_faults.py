"""Faults of what we lean on: broker, database, disk, memory, network: F3 to F7, F16 to F19, F22, F23, and streams."""

import json
import random
import resource
import sqlite3
import threading
import time

import httpx
import numpy as np
from celery import Celery
from process_faults import ends_alike
from service import LEASE, rows

from app.core import relay
from app.core.tables import State


def broker_down_at_submit(world, _moment):
    with world.service() as service:
        dataset = service.dataset()
        world.redis.kill()
        began = time.monotonic()
        job = service.submit(dataset)
        world.say(f"202 in {1e3 * (time.monotonic() - began):.0f} ms")
        time.sleep(2)
        assert service.row(job).state == State.queued
        world.redis.start()
        ends_alike(world, service, job)
        return service.counters()


def broker_frozen(world, _moment):
    with world.service() as service:
        dataset = service.dataset()
        world.redis.freeze()
        try:
            jobs = [service.submit(dataset, epochs=(2, 2)) for _ in range(5)]
            assert all(service.client.get(f"/jobs/{job}").status_code == 200 for job in jobs)
            time.sleep(5)
            assert service.client.get("/livez").status_code == 200
        finally:
            world.redis.thaw()
        for job in jobs:
            assert service.wait(job).state == State.succeeded
        return service.counters()


def broker_killed(world, _moment):
    with world.service() as service:
        dataset = service.dataset()
        job = service.submit(dataset)
        service.reached(job, "stage1")
        world.redis.kill()
        time.sleep(3)
        world.redis.start()
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
        ends_alike(world, service, job, seconds=90)
        return service.counters()


def writer_holds_lock(world, _moment):
    with world.service() as service:
        job = service.submit(service.dataset())
        service.reached(job, "stage1")
        lock = sqlite3.connect(service.home / "c2s.sqlite3", isolation_level=None)
        lock.execute("BEGIN IMMEDIATE")
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


def disk_full(world, moment):
    """Files cannot grow: an upload is 507, a training fails with its last good state kept, and a retry succeeds."""
    small = 16 * 2**20  # room for the database, not for the states of the net below
    with world.service(workers=0, C2S_MIN_FREE_BYTES=2**62 if moment == "upload" else 0) as service:
        if moment == "upload":
            answer = service.client.post("/datasets?name=x", content=rows())
            assert (answer.status_code, answer.json()["code"]) == (507, "storage_full")
            return service.counters()
        job = service.submit(service.dataset(), net={"name": "mlp", "hidden": [2000, 1000]}, epochs=(10, 10))
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (small, hard))  # inherited by what is started now
        try:
            worker = service.start_worker()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        row = service.wait(job)
        assert (row.state, (row.error or {}).get("code")) == (State.failed, "storage_full"), row.error
        worker.terminate()
        worker.wait(30)
        service.start_worker()
        again = service.client.post(f"/jobs/{job}/retry").json()["id"]
        assert service.wait(again).state == State.succeeded
        return service.counters()


def bytes_changed(world, _moment):
    """A dataset whose bytes changed under us is refused, not trained on."""
    with world.service(workers=0) as service:
        dataset = service.dataset()
        job = service.submit(dataset)
        x = service.store.dataset(dataset) / "x.npy"
        blob = bytearray(x.read_bytes())
        blob[-4] ^= 0xFF
        x.write_bytes(blob)
        service.start_worker()
        row = service.wait(job)
        assert (row.state, (row.error or {}).get("code")) == (State.failed, "invalid_dataset"), row.error
        return service.counters()


def memory_short(world, moment):
    with world.service(workers=0) as service:
        if moment == "ingest":
            before = service.client.get("/livez").status_code
            answer = service.client.post("/datasets?name=x", content=_bomb())
            assert (before, answer.status_code) == (200, 422), answer.text
            return service.counters()
        job = service.submit(service.dataset(), net={"name": "mlp", "hidden": [65536, 65536]})
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (6 * 2**30, hard))
        try:
            service.start_worker(MALLOC_ARENA_MAX="2")
        finally:
            resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        row = service.wait(job)
        outcome = (row.state, (row.error or {}).get("code"), row.attempts)
        assert outcome == (State.failed, "out_of_memory", 2), row.error
        return service.counters()


def _bomb():
    """An NPZ of a megabyte that unpacks to a gigabyte."""
    import io

    file = io.BytesIO()
    np.savez_compressed(file, x=np.zeros((2**27, 2), dtype=np.float32), y=np.zeros(4, dtype=np.int64))
    return file.getvalue()


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
