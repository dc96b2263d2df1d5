"""A bucket with a folder before it: copies are sound and bounded, halves are invisible, and a worker thought dead
can only leave litter."""

import hashlib
import json
import os
import secrets
import threading
import time

import databases
import pytest
from faulty_line import bucket_of

from app import doctor
from app.core import copies, db, errors, ids, settings, storage, stores
from c2s import folders

ONE = hashlib.sha256(b"1").hexdigest()
OLD = 2 * copies.YOUNG_SECONDS


@pytest.fixture
def hosts(line, tmp_path):
    line.heal()
    made = bucket_of(line.url, f"stores-{secrets.token_hex(4)}")

    def host(name, cache_bytes=2**30):
        return stores.BucketStore(tmp_path / name, made, cache_bytes=cache_bytes)

    host.bucket = made
    yield host
    line.heal()
    made.close()


def keep(store, **files):
    name = ids.new("ds")
    store.dataset(name).mkdir(parents=True)
    for file, text in files.items():
        (store.dataset(name) / file).write_text(text)
    store.keep_dataset(name)
    return name


def model(store, job, fence, text="w"):
    folder = store.resume(job, fence) / "model"
    folder.mkdir(exist_ok=True)
    (folder / "weights.safetensors").write_text(text)
    return store.keep_model(job, fence)


def test_a_copy_serves_while_the_server_is_away(hosts, line):
    name = keep(hosts("here"), x="1")
    there = hosts("there")
    there.open_dataset(name)
    line.break_(500)
    assert (there.open_dataset(name) / "x").read_text() == "1"
    assert (hosts("there").open_dataset(name) / "x").read_text() == "1"  # a new process, the same host
    with pytest.raises(errors.Unavailable):
        hosts("third").open_dataset(name)
    with pytest.raises(errors.Unavailable):
        there.check()


def test_a_copy_that_changed_on_the_disk_is_fetched_anew(hosts):
    name = keep(hosts("here"), x="right")
    there = hosts("there")
    (there.open_dataset(name) / "x").write_text("wrong")
    assert (there.open_dataset(name) / "x").read_text() == "right"


def test_bytes_that_changed_in_the_bucket_are_refused(hosts, tmp_path):
    here, job = hosts("here"), ids.new("job")
    name, key = keep(here, x="right"), model(here, job, 1)
    for broken in (f"datasets/{name}/data/x", f"{key}/weights.safetensors"):
        hosts.bucket.delete([broken])
        hosts.bucket.put(broken, b"wrong", secrets.token_hex(32))
    there = hosts("there")
    with pytest.raises(errors.Damaged):
        there.open_dataset(name)
    with pytest.raises(errors.Unavailable) as caught:
        there.open_model(key)
    assert (caught.value.code, caught.value.status) == ("model_damaged", 503)
    assert not there.dataset(name).exists()
    assert list((tmp_path / "there" / "aside").iterdir()) == []
    hosts.bucket.delete([f"datasets/{name}/data/{copies.LIST}"])
    with pytest.raises(errors.Damaged, match="gone"):
        hosts("third").open_dataset(name)


def test_a_folder_whose_upload_broke_off_does_not_exist(hosts, line):
    here = hosts("here")
    line.break_(500, method="PUT", path=copies.LIST)
    with pytest.raises(errors.Unavailable):
        keep(here, meta="m", x="1")
    line.heal()
    ((key, _),) = [(piece.key, piece.modified) for piece in here.pieces()]
    with pytest.raises(errors.Damaged, match="gone"):
        hosts("there").open_dataset(key.split("/")[1])
    assert not here.holds(f"{key}/data", "meta")


def test_what_was_used_longest_ago_goes_first_and_what_is_in_use_stays(hosts):
    here, there = hosts("here"), hosts("there", cache_bytes=2500)
    names = [keep(here, x=str(number) * 1000) for number in range(4)]
    busy = there.resume(ids.new("job"), 1)
    with folders.reserved(busy):
        for name in names[:3]:
            there.open_dataset(name)
        for age, unit in [
            (3, busy.parents[1]),
            (2, there.dataset(names[0]).parent),
            (1, there.dataset(names[1]).parent),
        ]:
            os.utime(unit, (time.time() - OLD * age,) * 2)
        there.open_dataset(names[3])
        assert not there.dataset(names[0]).exists()
        assert there.dataset(names[2]).exists(), "opened a moment ago"
        assert busy.exists(), "a training works there"
    assert (there.open_dataset(names[0]) / "x").read_text() == "0" * 1000


def test_many_who_open_one_folder_at_once_all_get_it_whole(hosts, monkeypatch):
    name, failed, brought = keep(hosts("here"), x="1" * 100_000, y="2"), [], []
    place = copies.Copies.place

    def slowly(self, filled, folder):
        brought.append(folder)
        time.sleep(0.2)  # so that all of them come while it is under way
        place(self, filled, folder)

    monkeypatch.setattr(copies.Copies, "place", slowly)

    def open_it():
        folder = hosts("there").open_dataset(name)
        if (folder / "x").stat().st_size != 100_000 or not (folder / "y").exists():
            failed.append(folder)

    threads = [threading.Thread(target=open_it) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert len(brought) == 1, "a second copy takes the first from under those who opened it"


def test_a_state_that_is_not_whole_is_passed_over_for_the_attempt_before_it(hosts):
    here, job = hosts("here"), ids.new("job")
    for fence in (1, 2):
        run = hosts(f"host {fence}").resume(job, fence)
        (run / "run").mkdir(exist_ok=True)
        (run / "run" / "run.json").write_text(f"by {fence}")
        hosts(f"host {fence}").save(job, fence)
    hosts.bucket.delete([f"jobs/{job}/2/run/run/run.json"])
    assert (here.resume(job, 3) / "run" / "run.json").read_text() == "by 1"


def test_a_worker_thought_dead_leaves_litter_alone_and_the_janitor_finds_it(hosts, tmp_path):
    job = ids.new("job")
    zombie, heir = hosts("zombie"), hosts("heir")
    (zombie.resume(job, 1) / "state").write_text("1")
    key = model(heir, job, 2, "right")
    heir.prune_job(job, keep=2)
    zombie.save(job, 1)  # the cut-off host is back
    model(zombie, job, 1, "wrong")
    assert (hosts("third").open_model(key) / "weights.safetensors").read_text() == "right"
    ended = {job: (doctor.State.succeeded, "train")}
    rows = doctor._Rows(datasets=set(), jobs=ended, published={f"jobs/{job}/2"}, waiting=set())
    litter = [piece.key for piece in heir.pieces() if rows.judge(piece, 0)[0]]
    assert litter == [f"jobs/{job}/1"]
    heir.discard(litter[0])
    assert heir.attempts(job) == [2]


def test_the_doctor_finds_orphans_losses_and_uploads_in_parts_in_a_bucket(hosts, tmp_path):
    url = f"sqlite:///{tmp_path / 'c2s.sqlite3'}"
    databases.prepare(url)
    database, here = db.Database(url), hosts("here")
    name = keep(here, x="1")
    hosts.bucket._line.ask("POST", hosts.bucket._path("jobs/x/1/run/model/w"), {"uploads": ""})
    assert doctor.litter(database, here) == [], "all of it is young"
    found = doctor.litter(database, here, young=-60)
    assert {finding.what for finding in found} == {
        "bytes of a dataset that has no row",
        "an upload in parts that never ended",
    }
    for finding in found:
        doctor.remove(here, finding)
    assert doctor.litter(database, here, young=-60) == []
    assert not here.holds(f"datasets/{name}/data", "x")
    database.close()


def test_a_deep_look_reads_a_bucket_and_not_the_copies_of_it(hosts):
    here = hosts("here")
    key = here.key(here.dataset(keep(here, x="1", **{"meta.json": json.dumps({"sha256": {"x": ONE}})})))
    assert list(doctor._folder(here, key, "meta.json", "they", deep=True)) == []
    hosts.bucket.delete([f"{key}/x"])
    for put in (lambda: None, lambda: here._put_bytes(f"{key}/x", b"2")):
        put()
        (said,) = doctor._folder(here, key, "meta.json", "they", deep=True)
        assert said == "they have changed or are gone: x"
    hosts.bucket.delete([f"{key}/meta.json"])
    assert list(doctor._folder(here, key, "meta.json", "they", deep=False)) == ["they are gone"]


def test_the_url_chooses_the_store(monkeypatch, tmp_path, s3_server):
    folder = settings.Settings(home=tmp_path, store_url=f"file://{tmp_path}/bytes")
    assert type(stores.open_store(folder)) is storage.Store
    assert stores.open_store(folder).root == tmp_path / "bytes"
    chosen = settings.Settings(home=tmp_path, store_url="s3://c2s/some/prefix")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ValueError, match="AWS_ACCESS_KEY_ID"):
        stores.open_store(chosen)
    for name, value in s3_server.environment("x").items():
        monkeypatch.setenv(name, value)
    store = stores.open_store(chosen)
    store.check()
    assert store.root == tmp_path / "cache"
    assert s3_server.SECRET not in repr(settings.BucketSettings())
    store.close()
    with pytest.raises(ValueError, match="C2S_STORE_URL"):
        settings.Settings(home=tmp_path, store_url="ftp://x")
