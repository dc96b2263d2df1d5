"""Bytes: they come in counted, appear whole, and leave when nobody names them."""

import pytest

from app import doctor
from app.core import errors, ids, storage


@pytest.fixture
def store(tmp_path):
    return storage.Store(tmp_path / "store")


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
    with pytest.raises(errors.StoreFull), storage.full_disk():
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


def test_discarding_stays_inside_the_store(store, tmp_path):
    with pytest.raises(ValueError, match="in the store"):
        store.discard(tmp_path)


def test_the_doctor_s_findings_name_a_size(tmp_path):
    (tmp_path / "a").write_bytes(b"123")
    assert doctor.Finding("litter", "x", tmp_path).bytes == 3
