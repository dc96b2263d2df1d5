"""Bytes: they come in counted, appear whole, and leave when nobody names them; in a folder and in a bucket alike."""

import errno
import itertools
import secrets

import pytest
from faulty_line import bucket_of

from app.core import copies, errors, ids, incoming, storage, stores


@pytest.fixture(params=["folder", "bucket"])
def hosts(request, tmp_path):
    """Makes the store as one more host sees it."""
    if request.param == "folder":
        yield lambda: storage.Store(tmp_path / "store")
        return
    server, numbers = request.getfixturevalue("s3_server"), itertools.count()
    name = f"storage-{secrets.token_hex(4)}"
    made = bucket_of(server.url, name)
    yield lambda: stores.BucketStore(tmp_path / f"host-{next(numbers)}", made, cache_bytes=2**30)
    made.close()


@pytest.fixture
def store(hosts):
    return hosts()


def filled(folder, **files):
    for name, text in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def contents(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in folder.rglob("*")
        if path.is_file() and path.name != copies.LIST
    }


def keys(store):
    return {piece.key for piece in store.pieces()}


def test_an_upload_is_counted_hashed_and_gone_unless_it_is_kept(store):
    with store.upload(limit=100) as upload:
        upload.write(b"hello ")
        upload.write(b"world")
        done = upload.finish()
        assert (done.bytes, done.sha256[:8]) == (11, "b94d27b9")
        assert done.path.read_bytes() == b"hello world"
    assert list((store.root / "tmp").iterdir()) == []


def test_an_upload_over_the_limit_is_refused_while_it_comes(store):
    with pytest.raises(errors.TooLarge, match="at most 4 bytes"), store.upload(limit=4) as upload:
        upload.write(b"12345")
    assert list((store.root / "tmp").iterdir()) == []


def test_an_upload_whose_process_died_is_swept_and_a_living_one_is_not(store):
    (store.root / "tmp" / "dead").write_bytes(b"half a file")
    with store.upload(limit=100) as upload:
        upload.write(b"alive")
        store.sweep()
        assert list((store.root / "tmp").iterdir()) == [upload.path]


def test_uploads_are_refused_before_the_disk_is_full(tmp_path):
    full = storage.Store(tmp_path, min_free=2**62)
    with pytest.raises(errors.StoreFull), full.upload(limit=1):
        pass


def test_a_full_disk_is_an_answer():
    with pytest.raises(errors.StoreFull), incoming.full_disk():
        raise OSError(28, "No space left on device")


@pytest.mark.parametrize(
    "name",
    ["..", "../../etc", "ds_1", "ds_" + "0" * 25 + "/", "DS_" + "0" * 26, "", "ds_0\x00", "ds_" + "u" * 26],
)
def test_only_our_own_ids_become_paths(store, name):
    for act in (store.source, store.dataset, store.remove_dataset, store.remove_job, store.attempts):
        with pytest.raises(errors.NotFound):
            act(name)


def test_ids_sort_by_age_and_fit_their_own_pattern():
    made = [ids.new("job") for _ in range(1000)]
    assert sorted(set(made)) == made
    assert all(ids.valid("job", one) for one in made)


def test_a_new_attempt_takes_over_what_the_last_one_finished(store):
    job = ids.new("job")
    run = store.resume(job, 1)
    (run / "run").mkdir()
    (run / "run" / "run.json").write_text("{}")
    (run / "lock").write_text("")
    for name in ("epoch-1", "epoch-2.part"):
        (run / "stage1" / name).mkdir(parents=True)
        (run / "stage1" / name / "state").write_text(name)
    later = store.resume(job, 2)
    assert (later / "stage1" / "epoch-1" / "state").read_text() == "epoch-1"
    assert not (later / "stage1" / "epoch-2.part").exists()
    assert not (later / "lock").exists()
    assert (later / "run" / "run.json").stat().st_nlink == 2
    assert store.attempts(job) == [1, 2]


def test_an_ended_job_keeps_its_model_and_log(store):
    job = ids.new("job")
    for fence in (1, 2):
        run = store.resume(job, fence)
        (run / "run").mkdir(exist_ok=True)
        (run / "run" / "run.json").write_text("{}")
        (run / "model").mkdir(exist_ok=True)
        (run / "model" / f"card{fence}.json").write_text("{}")
        (run / "stage1").mkdir(exist_ok=True)
        (run.parent / "log.txt").write_text("said")
    store.prune_job(job, keep=2)
    assert store.attempts(job) == [2]
    left = {path.relative_to(store.attempt(job, 2)).as_posix() for path in store.attempt(job, 2).rglob("*")}
    assert "log.txt" in left
    assert "run/stage1" not in left
    assert "run/model/card2.json" in left


def test_discarding_stays_inside_the_store(store):
    with pytest.raises(ValueError, match="in the store"):
        store.discard("../elsewhere")


@pytest.mark.parametrize(
    ("number", "kind"),
    [(errno.ENOSPC, errors.StoreFull), (errno.EDQUOT, errors.StoreFull), (errno.EIO, errors.Unavailable)],
)
def test_a_disk_that_is_full_or_fails_is_an_answer(store, number, kind):
    with pytest.raises(kind), store.upload(limit=10):
        raise OSError(number, "told by the disk")
    with pytest.raises(PermissionError), store.upload(limit=10):
        raise PermissionError


def test_a_dataset_kept_on_one_host_is_opened_on_another(store, hosts):
    name = ids.new("ds")
    filled(store.dataset(name), meta="m", x="numbers")
    store.keep_dataset(name)
    assert contents(hosts().open_dataset(name)) == {"meta": "m", "x": "numbers"}
    assert keys(store) == {f"datasets/{name}"}
    assert store.holds(f"datasets/{name}/data", "meta")
    assert not store.holds(f"datasets/{name}/data", "other")


def test_an_upload_kept_on_one_host_is_read_on_another_and_gone_afterwards(store, hosts):
    name = ids.new("ds")
    with store.upload(limit=100) as upload:
        upload.write(b"a,b\n1,2\n")
        done = upload.finish()
        store.keep_source(name, done)
    elsewhere = hosts()
    assert elsewhere.open_source(name, sha256=done.sha256).read_bytes() == b"a,b\n1,2\n"
    elsewhere.remove_source(name)
    assert not elsewhere.source(name).exists()
    store.remove_dataset(name)
    assert keys(store) == set()


def test_another_host_goes_on_from_what_was_saved_last(store, hosts):
    job = ids.new("job")
    run = store.resume(job, 1)
    filled(run, run__run_json="{}", lock="", **{"stage1__epoch-1__state": "one"})
    (run / "run" / "run_json").rename(run / "run" / "run.json")
    store.save(job, 1)
    filled(run, **{"stage1__epoch-2__state": "two", "stage1__epoch-3.part__state": "half"})
    (run / "stage1" / "epoch-1" / "state").unlink()
    store.save(job, 1)
    taken = hosts().resume(job, 2)
    assert contents(taken) == {"run/run.json": "{}", "stage1/epoch-2/state": "two"}
    assert hosts().attempts(job)[0] == 1


def test_a_model_is_opened_by_the_key_that_keeping_it_gave(store, hosts):
    job = ids.new("job")
    filled(store.resume(job, 3), model__card="{}", model__weights="w", stage1__state="s")
    key = store.keep_model(job, 3)
    assert key == f"jobs/{job}/3/run/model"
    assert contents(hosts().open_model(key)) == {"card": "{}", "weights": "w"}
    digest = "50e721e49c013f00c62cf59f2163542a9d8df02464efeb615d31051b0fddc326"
    assert hosts().intact(key, "weights", digest)
    assert not hosts().intact(key, "weights", "0" * 64)


def test_of_an_ended_job_only_the_model_stays(store, hosts):
    job = ids.new("job")
    for fence in (1, 2):
        run = filled(
            store.resume(job, fence), run__run="{}", model__weights="w", **{"s1__epoch-1__state": "s"}
        )
        (run / "run" / "run").rename(run / "run" / "run.json")
        store.save(job, fence)
        store.keep_model(job, fence)
    store.prune_job(job, keep=2)
    assert store.attempts(job) == [2]
    other = hosts()
    assert contents(other.open_model(f"jobs/{job}/2/run/model")) == {"weights": "w"}
    assert not other.holds(f"jobs/{job}/2/run/s1/epoch-1", "state")
    store.remove_job(job)
    assert keys(store) == set()


def test_of_a_failed_job_the_last_attempt_stays(store):
    job = ids.new("job")
    for fence in (1, 2):
        filled(store.resume(job, fence), run__x="x")
        store.save(job, fence)
    store.forget_attempts(job, keep=2)
    assert store.attempts(job) == [2]


def test_what_is_discarded_is_gone_and_its_size_was_known(store):
    job = ids.new("job")
    filled(store.resume(job, 1), model__weights="12345")
    store.keep_model(job, 1)
    assert {f"jobs/{job}", f"jobs/{job}/1"} <= keys(store)
    assert store.size(f"jobs/{job}/1") >= 5
    store.discard(f"jobs/{job}/1")
    assert not store.holds(f"jobs/{job}/1/run/model", "weights")
    assert store.attempts(job) == []
    store.discard(f"jobs/{job}")
    assert keys(store) == set()


def test_a_store_that_can_be_written_says_so(store):
    store.prepare()
    store.check()
