"""Faults of disk, store and memory: F18, F19 and F22 of the fault matrix, on file systems that really fail."""

import io
import resource
import sqlite3
import time

import numpy as np
import psutil
from faulty import Layer, small_disk
from process_faults import ends_alike
from service import LEASE, rows, spec

from app.core.tables import ENDED, State
from c2s import folders

FAILURES = [
    *(f"{effect} at upload" for effect in ("EIO", "short", "slow")),
    *(f"{effect} at load" for effect in ("EIO", "EIO for good", "short", "slow")),
    *(f"{effect} at publish" for effect in ("EIO", "truncated", "short", "slow")),
]
WIDE = {"name": "mlp", "hidden": [600, 300]}  # states of megabytes


def disk_full(world, moment):
    """A file system without a free byte: what is asked of it is refused or waits, and goes on once there is space."""
    with small_disk(world.folder() / "disk") as disk:
        cases = {
            "upload": _full_at_upload,
            "checkpoint": _full_at_checkpoint,
            "database": _full_under_database,
            "everything, job running": _full_under_job,
        }
        return cases[moment](world, disk)


def _full_at_upload(world, disk):
    with world.service(home=disk.path, workers=0) as service:
        kept = service.dataset()
        with disk.full():
            for blob in (rows(), rows(count=100_000)):
                answer = service.client.post("/datasets?name=x", content=blob)
                assert (answer.status_code, answer.json()["code"]) == (507, "storage_full"), answer.text
            assert list((service.store.root / "tmp").iterdir()) == []
            assert [path.name for path in (service.store.root / "datasets").iterdir()] == [kept]
            assert service.client.get(f"/datasets/{kept}").status_code == 200
        service.dataset()
        return service.counters()


def _full_at_checkpoint(world, disk):
    with world.service(C2S_STORE_URL=disk.path / "store") as service:
        job = service.submit(service.dataset(), net=WIDE, epochs=(3000, 2))
        service.until(lambda: service.checkpoints(job) >= 2, what="two checkpoints")
        with disk.full():
            world.struck(service, job)
            row = service.wait(job)
            assert (row.state, (row.error or {}).get("code")) == (State.failed, "storage_full"), row.error
        kept = sorted(service.store.attempt(job, row.fence).rglob("epoch-*"))
        sums = folders.read_json(kept[-1] / "sums.json")
        assert all(folders.digest(kept[-1] / name) == sha for name, sha in sums.items())
        world.say(f"kept {kept[-1].name}")
        again = service.submit(service.dataset(), net=WIDE, epochs=(2, 2))
        assert service.wait(again).state == State.succeeded
        return service.counters()


def _full_under_database(world, disk):
    """The SQLite file cannot grow; bytes are elsewhere."""
    url = f"sqlite:///{disk.path / 'c2s.sqlite3'}"
    with world.service(database=url, workers=0, C2S_BALLAST_BYTES=4 * 2**20) as service:
        dataset, spare = service.dataset(), service.dataset(rows(seed=3))
        with disk.full():
            made, refused = _posted_until_refused(service, dataset)
            assert refused.status_code == 503, refused.text
            assert "Retry-After" in refused.headers
            assert service.client.get(f"/datasets/{spare}").status_code == 200
            freed = service.client.delete(f"/datasets/{spare}")  # else nobody could ever make space
            assert freed.status_code == 204, freed.text
            assert not service.store.dataset(spare).exists()
        made.append(service.submit(dataset, epochs=(2, 2)))
        world.struck(service, made[0])
        service.start_worker()
        for job in made:
            assert service.wait(job, seconds=120).state == State.succeeded
        with sqlite3.connect(disk.path / "c2s.sqlite3") as plain:
            assert plain.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        plain.close()
        world.say(f"{len(made) - 1} jobs taken before the first 503")
        return service.counters()


def _posted_until_refused(service, dataset, most=400):
    made = []
    for _ in range(most):
        answer = service.client.post("/jobs", json=spec(dataset, epochs=(2, 2)))
        if answer.status_code != 202:
            return made, answer
        made.append(answer.json()["id"])
    raise AssertionError(f"{most} jobs were taken by a full disk")


def _full_under_job(world, disk):
    """Database, store and logs on one disk that fills up while a job runs and stays full for two leases."""
    with world.service(home=disk.path) as service:
        job = service.submit(service.dataset(), net=WIDE, epochs=(60, 10))
        service.until(lambda: service.checkpoints(job) >= 1, what="a checkpoint")
        with disk.full():
            time.sleep(2 * LEASE)
            assert service.client.get("/livez").status_code == 200
        world.struck(service, job)
        row = service.wait(job)
        code = (row.error or {}).get("code")
        assert (row.state, code) in ((State.succeeded, None), (State.failed, "storage_full")), row.error
        plain = service.submit(row.dataset_id, net=WIDE, epochs=(60, 10))
        assert service.wait(plain).state == State.succeeded
        if row.state == State.succeeded:
            assert service.weights(job) == service.weights(plain)
        world.say(f"{row.state}")
        return service.counters()


def store_fails(world, moment):
    """EIO, truncated, short and slow answers of the store: tried again within bounds, never believed, never fatal."""
    effect, where = moment.split(" at ")
    with world.service(workers=0) as service:
        layer = Layer(world.folder(), service.store.root)
        cases = {"upload": _fails_at_upload, "load": _fails_at_load, "publish": _fails_at_publish}
        return cases[where](world, service, layer, effect)


def _fails_at_upload(world, service, layer, effect):
    service.api.terminate()
    service.api.wait(30)
    service.env |= layer.env
    service.start_api()
    if effect == "EIO":
        for operation, needle in (("write", "store/tmp/"), ("sync", "store/tmp/"), ("open", "store/tmp/")):
            layer.obey(operation, needle, "eio")
            answer = service.client.post("/datasets?name=x", content=rows())
            assert (answer.status_code, answer.json()["code"]) == (503, "unavailable"), answer.text
            assert "Retry-After" in answer.headers
            assert layer.hits
    else:
        layer.obey("write", "store/tmp/", {"short": "short", "slow": "slow200"}[effect])
        assert service.client.post("/datasets?name=x", content=rows()).status_code == 201
        assert layer.hits
    layer.behave()
    dataset = service.dataset()
    assert list((service.store.root / "tmp").iterdir()) == []
    count = 1 if effect == "EIO" else 2
    assert len(list((service.store.root / "datasets").iterdir())) == count
    service.start_worker()
    ends_alike(world, service, service.submit(dataset))
    return service.counters()


def _fails_at_load(world, service, layer, effect):
    job = service.submit(service.dataset())
    if effect == "EIO":
        layer.obey("open", "/data/", "eio", last=1)
    elif effect == "EIO for good":
        layer.obey("open", "/data/", "eio")
    else:
        layer.obey("read", "/data/", {"short": "short", "slow": "slow300"}[effect])
    world.struck(service, job)
    service.start_worker(**layer.env)
    if effect == "EIO for good":
        row = service.wait(job)
        assert (row.state, row.attempts) == (State.failed, 3), row.error
        assert row.error["retriable"], row.error
    else:
        ends_alike(world, service, job)
        assert service.row(job).attempts == (2 if effect == "EIO" else 1)
    assert layer.hits
    return service.counters()


def _fails_at_publish(world, service, layer, effect):
    """What the supervisor reads back before it publishes."""
    job = service.submit(service.dataset())
    effects = {"EIO": "eio", "truncated": "eof", "short": "short", "slow": f"slow{int(1500 * LEASE)}"}
    layer.obey("read", "/run/model/weights", effects[effect], last=1 if effect != "short" else 2**40)
    world.struck(service, job)
    service.start_worker(**layer.env)
    ends_alike(world, service, job)
    assert layer.hits
    assert service.row(job).attempts == (1 if effect in ("short", "slow") else 2)
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
        world.struck(service, job)
        service.start_worker()
        row = service.wait(job)
        assert (row.state, (row.error or {}).get("code")) == (State.failed, "invalid_dataset"), row.error
        return service.counters()


def killed_at_each_change(world, moment):
    """One job whose processes are killed at the n-th write, sync or rename in the store, for a sample of n."""
    with world.service(workers=0, C2S_CRASH_LIMIT=20) as service:
        layer = Layer(world.folder(), service.store.root / "jobs")
        dataset = service.dataset()
        layer.obey("change", "-", "slow0")
        worker = service.start_worker(**layer.env)
        ends_alike(world, service, service.submit(dataset))
        whole = int(0.8 * layer.hits)  # a run that is faster than this one saves less often
        tried = sorted({1 + round(place * (whole - 1) / (int(moment) - 1)) for place in range(int(moment))})
        for number in tried:
            layer.obey("change", "-", "kill", first=number, last=number)
            job = service.submit(dataset)
            while service.row(job).state not in ENDED:
                if (
                    worker.poll() is not None
                ):  # the supervisor writes too, and then its worker goes on without it
                    worker = service.start_worker(**layer.env)
                time.sleep(0.1)
            ends_alike(world, service, job)
            assert layer.hits >= number, "the job ended before it was killed"
        world.say(f"{whole} changes a job, killed at {len(tried)} of them")
        return service.counters()


def memory_short(world, moment):
    with world.service(workers=0) as service:
        if moment == "ingest":
            api = psutil.Process(service.api.pid)
            service.dataset()  # what the first upload loads is no growth
            before = api.memory_info().rss
            for _ in range(3):
                answer = service.client.post("/datasets?name=x", content=_bomb())
                assert answer.status_code == 422, answer.text
            world.say(f"API RSS {(api.memory_info().rss - before) / 2**20:+.1f} MB after 3 bombs")
            return service.counters()
        job = service.submit(service.dataset(), net={"name": "mlp", "hidden": [65536, 65536]})
        api = psutil.Process(service.api.pid)
        before = api.memory_info().rss
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (6 * 2**30, hard))
        try:
            service.start_worker(MALLOC_ARENA_MAX="2")
        finally:
            resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        row = service.wait(job)
        outcome = (row.state, (row.error or {}).get("code"), row.attempts)
        assert outcome == (State.failed, "out_of_memory", 2), row.error
        world.say(f"API RSS {(api.memory_info().rss - before) / 2**20:+.1f} MB")
        return service.counters()


def _bomb():
    """An NPZ of a megabyte that unpacks to a gigabyte."""
    file = io.BytesIO()
    np.savez_compressed(file, x=np.zeros((2**27, 2), dtype=np.float32), y=np.zeros(4, dtype=np.int64))
    return file.getvalue()
