"""Faults of our own processes: F1, F2, F8 to F15, F20 to F22, F24 of the fault matrix; each runs on any backing."""

import contextlib
import random
import signal
import threading
import time

import httpx
import psutil
from service import LEASE, spec

from app.core import events
from app.core.tables import State

TAKEOVER = 180  # seconds a wait may take before a test gives up, far beyond what is measured


def undisturbed(world):
    """The hash that the standard job ends with when nothing happens to it."""
    if world.reference is None:
        with world.service() as service:
            job = service.submit(service.dataset())
            assert service.wait(job).state == State.succeeded, service.tail()
            type(world).reference = service.weights(job)
    return world.reference


def ends_alike(world, service, job, seconds=TAKEOVER):
    """The job succeeds with the weights of an undisturbed run."""
    row = service.wait(job, seconds=seconds)
    assert row.state == State.succeeded, (row.error, service.tail())
    assert service.weights(job) == undisturbed(world)


def api_killed_at_submit(world, moment):
    with world.service() as service:
        dataset, key = service.dataset(), "key-" + moment.replace(" ", "-")
        seconds = {"before the commit": 0.0, "after the commit": 0.3}[moment]

        def post():
            with httpx.Client(base_url=service.client.base_url, headers=service.client.headers) as client:
                try:
                    client.post("/jobs", json=spec(dataset), headers={"Idempotency-Key": key})
                except httpx.TransportError:
                    return

        sender = threading.Thread(target=post)
        sender.start()
        time.sleep(seconds)
        service.api.kill()
        sender.join()
        service.api.wait()
        service.start_api()
        first = service.submit(dataset, key=key)
        world.struck(service, first)
        assert service.submit(dataset, key=key) == first
        listed = service.client.get("/jobs").json()["data"]
        assert [job["id"] for job in listed] == [first]
        ends_alike(world, service, first)
        return service.counters()


def api_killed_mid_upload(world, _moment):
    with world.service(workers=0) as service:

        def pieces():
            for number in range(50):
                if number == 10:
                    service.api.kill()
                yield b"1,2,3\n" * 10_000
                time.sleep(0.01)

        with contextlib.suppress(httpx.TransportError):
            service.client.post("/datasets?name=x", content=pieces())
        service.api.wait()
        service.start_api()
        assert service.client.get("/datasets").json()["data"] == []
        assert list((service.store.root / "tmp").iterdir()) == []
        assert list((service.store.root / "datasets").iterdir()) == []
        return service.counters()


def trainer_killed(world, moment):
    """SIGKILL of the training process; it goes on from its last checkpoint."""
    with world.service() as service:
        job = service.submit(service.dataset())
        if moment == "at start":
            service.trainer().kill()
        elif moment == "in a checkpoint write":
            trainer, deadline = service.trainer(), time.monotonic() + TAKEOVER
            while not service.parts():  # they last for milliseconds
                assert time.monotonic() < deadline, "no checkpoint in the making was seen"
            trainer.kill()
        elif moment == "before publishing":
            service.until(lambda: "model" in service.folders(), what="a model folder")
            [one.kill() for one in service.trainers()]
        else:
            service.reached(job, moment)
            service.trainer().kill()
        world.struck(service, job)
        ends_alike(world, service, job)
        return service.counters()


def celery_child_killed(world, _moment):
    with world.service() as service:
        job = service.submit(service.dataset())
        service.reached(job, "stage1")
        service.trainer().parent().kill()
        world.struck(service, job)
        service.until(lambda: not service.trainers(), 20, what="the training dies with its supervisor")
        ends_alike(world, service, job)
        return service.counters()


def worker_killed(world, _moment):
    with world.service() as service:
        job = service.submit(service.dataset())
        service.reached(job, "stage1")
        service.workers[0].kill()
        world.struck(service, job)
        service.until(lambda: not service.trainers(), 20, what="the training dies with its worker")
        service.start_worker()
        ends_alike(world, service, job)
        return service.counters()


def supervisor_frozen(world, _moment):
    """A worker that was only slow finds that another has its job."""
    with world.service(workers=2) as service:
        job = service.submit(service.dataset(), epochs=(60, 200))
        service.reached(job, "stage1")
        trainer = service.trainer()
        frozen = [trainer.parent(), trainer]
        [one.suspend() for one in frozen]
        world.struck(service, job)
        fence = service.row(job).fence
        service.until(lambda: service.row(job).fence > fence, what="another worker takes the job")
        [one.resume() for one in frozen]
        row = service.wait(job)
        assert row.state == State.succeeded, row.error
        with service.database.read() as tx:
            assert [event.type for event in events.page(tx, job, limit=10_000)].count("end") == 1
        return service.counters()


def worker_drained(world, moment):
    with world.service() as service:
        job = service.submit(service.dataset())
        service.trainer() if moment == "at start" else service.reached(job, moment)
        service.workers[0].terminate()
        world.struck(service, job)
        assert service.workers[0].wait(60) == 0
        assert not service.trainers()
        row = service.row(job)
        assert row.state in (State.queued, State.succeeded), row.state
        assert row.crashes == 0
        service.start_worker()
        ends_alike(world, service, job)
        return service.counters()


def crash_loop(world, _moment):
    with world.service(C2S_CRASH_LIMIT=3) as service:
        job = service.submit(service.dataset(), epochs=(5000, 5000))
        killed = set()
        while service.row(job).state not in (State.failed, State.succeeded):
            for trainer in service.trainers():
                if trainer.pid not in killed and not service.checkpoints(job):
                    killed.add(trainer.pid)
                    trainer.kill()
            time.sleep(0.05)
        row = service.row(job)
        assert (row.state, row.error["code"], row.attempts) == (State.failed, "worker_lost", 3), row.error
        time.sleep(2)
        assert not service.trainers()
        return service.counters()


def trainer_hangs(world, _moment):
    with world.service(C2S_STALL_SECONDS=6) as service:
        job = service.submit(service.dataset())
        service.reached(job, "stage1")
        service.trainer().suspend()
        world.struck(service, job)
        ends_alike(world, service, job)
        assert service.row(job).attempts == 2
        return service.counters()


# Read by every Python with its folder on the path: judging takes four seconds, so that a cancel can meet it.
SLOW_JUDGE = """
import sys
if "worker.trainer" in sys.orig_argv:
    import time
    from c2s import pipeline
    real = pipeline.best
    pipeline.best = lambda *told: (time.sleep(4), real(*told))[1]
"""
CANCELLED_IN = ["queued", "loading", "stage1", "transition", "stage2", "evaluation", "publishing", "the end"]


def cancelled(world, moment):
    """Cancelled in a phase, twice, and again after the end."""
    slow = world.folder()
    (slow / "sitecustomize.py").write_text(SLOW_JUDGE if moment == "evaluation" else "")
    short = {"transition": (20, 20), "stage2": (20, 3000), "evaluation": (3, 3), "the end": (2, 2)}
    more = {"transition": {"posteriors": "k-fold", "folds": 5}} if moment == "transition" else {}
    with world.service(workers=0) as service:
        epochs = (60, 60) if moment == "publishing" else short.get(moment, (2000, 2000))
        job = service.submit(service.dataset(), epochs=epochs, **more)
        if moment != "queued":
            service.start_worker(PYTHONPATH=f"{slow}:{world.python_path}")
        _await(service, job, moment)
        phase = service.row(job).phase
        answers = [service.client.post(f"/jobs/{job}/cancel").status_code for _ in range(2)]
        world.struck(service, job)
        row = service.wait(job)
        if moment in ("publishing", "the end"):
            assert row.state == State.succeeded or (row.state, moment) == (State.cancelled, "publishing")
        else:
            assert row.state == State.cancelled
            assert phase == moment or moment in (
                "queued",
                "loading",
            )  # what is loaded is not always told in time
            assert set(answers) <= {200, 202}
        assert (service.weights(job) is not None) == (row.state == State.succeeded)
        service.until(lambda: not service.trainers(), 30, what="nobody trains on")
        again = {service.client.post(f"/jobs/{job}/cancel").status_code for _ in range(2)}
        assert again == {409 if row.state == State.succeeded else 200}
        return service.counters()


def _await(service, job, moment):
    if moment == "publishing":
        service.until(lambda: any(p.startswith("model") for p in service.folders()), what="a model")
    elif moment == "the end":
        service.wait(job)
    elif moment == "loading":
        service.trainer()
    elif moment != "queued":
        service.reached(job, moment)


def checkpoint_flipped(world, moment):
    """A damaged checkpoint is found and the one before it is used."""
    with world.service() as service:
        job = service.submit(service.dataset(), epochs=(200, 60))
        service.until(lambda: service.checkpoints(job) >= 2, what="two checkpoints")
        service.workers[0].kill()
        service.workers[0].wait()
        service.until(lambda: not service.trainers(), what="the training dies with its worker")
        newest = sorted(service.store.root.rglob("epoch-*/state.safetensors"))[-1]
        blob = bytearray(newest.read_bytes())
        if moment == "bit flip":
            blob[len(blob) // 2] ^= 1
        newest.write_bytes(blob if moment == "bit flip" else blob[: len(blob) // 2])
        world.struck(service, job)
        service.start_worker()
        row = service.wait(job)
        assert row.state == State.succeeded, (row.error, service.tail())
        plain = service.submit(row.dataset_id, epochs=(200, 60))
        service.wait(plain)
        assert service.weights(job) == service.weights(plain)
        return service.counters()


def clock_wrong(world, moment):
    """A worker whose clock is an hour off neither loses its lease nor takes another's."""
    shifted = world.folder() / "sitecustomize.py"
    shifted.write_text(f"import time\n_true = time.time\ntime.time = lambda: _true() + {moment}\n")
    path = f"{shifted.parent}:{world.python_path}"
    with world.service(workers=0) as service:
        service.start_worker(PYTHONPATH=path)
        job = service.submit(service.dataset())
        ends_alike(world, service, job)
        assert service.row(job).attempts == 1
        return service.counters()


def random_mix(world, moment):
    """Two workers, a fault every second and a half, several jobs: every one ends as if nothing had happened."""
    rng = random.Random(int(moment))  # noqa: S311 - picks faults
    with world.service(workers=2, C2S_CRASH_LIMIT=50) as service:
        dataset = service.dataset()
        jobs = [service.submit(dataset) for _ in range(world.mix_jobs)]
        faults, deadline = 0, time.monotonic() + world.mix_seconds
        while time.monotonic() < deadline:
            faults += _one_fault(world, service, rng)
            time.sleep(1.5)
        service.workers = [one for one in service.workers if one.poll() is None]
        while len(service.workers) < 2:
            service.start_worker()
        for job in jobs:
            ends_alike(world, service, job, seconds=240)
        world.say(f"{faults} faults, {len(jobs)} jobs")
        return service.counters()


def _one_fault(world, service, rng):
    kind = rng.choice(["trainer", "child", "worker", "freeze", "drain", *world.server_faults])
    trainers = service.trainers()
    try:
        if kind in world.server_faults:
            world.server_faults[kind]()
        elif kind in ("trainer", "freeze", "child") and trainers:
            victim = rng.choice(trainers)
            victim = victim.parent() if kind == "child" else victim
            victim.kill() if kind != "freeze" else _freeze(victim)
        elif kind in ("worker", "drain"):
            victim = rng.choice(service.workers)
            victim.send_signal(signal.SIGKILL if kind == "worker" else signal.SIGTERM)
            service.workers.remove(victim)
            service.start_worker()
            threading.Thread(target=victim.wait, daemon=True).start()
        else:
            return 0
    except psutil.Error:
        return 0
    return 1


def _freeze(process):
    process.suspend()
    threading.Timer(LEASE * 1.5, lambda: psutil.pid_exists(process.pid) and process.resume()).start()
