"""Rows against bytes: litter is found by age and removed, losses are named."""

import os
import shutil
import time

import databases
import numpy as np
import pytest
from sqlalchemy import select

from app import cli, doctor
from app.core import claims, db, ids, jobs, settings
from app.core.storage import Store
from app.core.tables import Dataset, Intake, Job, Model
from c2s import data, folders
from c2s.judging import reviews


@pytest.fixture
def place(tmp_path):
    url = f"sqlite:///{tmp_path / 'c2s.sqlite3'}"
    databases.prepare(url)
    database, store = db.Database(url), Store(tmp_path / "store")
    yield database, store
    database.close()


def job(database, *, end):
    """A job that has ended, with the attempt that ended it."""
    with database.begin() as tx:
        known = {"name": "d", "options": {}, "bytes": 1, "source_sha256": ""}
        made = Dataset(id=ids.new("ds"), state=Intake.validating, **known)
        tx.add(made)
        tx.flush()
        job_id = jobs.create(tx, made, task="train", config={}, manifest={}).id
        held = claims.claim(tx, owner="w", tasks=["train"], lease=9, crash_limit=3)
        if end == "cancelled":
            claims.cancel(tx, held)
        elif end == "failed":
            claims.fail(tx, held, jobs.error("internal", "x"))
        else:
            folder = f"jobs/{job_id}/{held.fence}/run/model"
            weights = Model(id=ids.new("mdl"), job_id=job_id, name="m", folder=folder, sha256="no", card={})
            claims.succeed(tx, held, {}, weights)
    return job_id


def left(store, job_id, attempt, *, age=0.0):
    folder = store.attempt(job_id, attempt)
    (folder / "run" / "model").mkdir(parents=True)
    for name in ("weights.safetensors", "model.onnx"):
        (folder / "run" / "model" / name).write_bytes(b"weights")
    when = time.time() - age
    os.utime(folder, (when, when))
    return folder


def litter(place, young=0.0):
    return {place[1].at(found.key) for found in doctor.examine(*place, young=young) if found.kind == "litter"}


def test_a_published_model_is_no_litter_and_an_overtaken_attempt_is(place):
    database, store = place
    job_id = job(database, end="succeeded")
    left(store, job_id, 1)
    overtaken = left(store, job_id, 7)
    assert litter(place) == {overtaken}
    assert litter(place, young=3600) == set()


def test_a_cancelled_job_leaves_nothing_and_a_failed_one_its_last_week(place):
    database, store = place
    cancelled = left(store, job(database, end="cancelled"), 1)
    left(store, job(database, end="failed"), 1)
    old = left(store, job(database, end="failed"), 1, age=8 * 86400)
    assert litter(place) == {cancelled, old}


def test_the_janitor_removes_old_litter_alone(place):
    database, store = place
    young = left(store, job(database, end="cancelled"), 1)
    old = left(store, job(database, end="cancelled"), 1, age=7200)
    assert doctor.Janitor(database, store).clean() == 1
    assert young.exists()
    assert not old.exists()


def test_losses_are_named_and_never_removed(place):
    database, store = place
    job_id = job(database, end="succeeded")
    assert [found.kind for found in doctor.examine(*place)] == ["loss"]
    left(store, job_id, 1)
    assert doctor.examine(*place) == []
    (changed,) = doctor.examine(*place, deep=True)
    assert "have changed" in changed.what
    doctor.remove(store, changed)
    assert store.at(changed.key).exists()
    (store.at(changed.key) / "model.onnx").unlink()
    (old,) = doctor.examine(*place)
    assert "c2s export" in old.what


def ready(database, store):
    """A dataset that was read, and its folder."""
    with database.begin() as tx:
        row = Dataset(
            id=ids.new("ds"), state=Intake.ready, name="d", options={}, bytes=1, source_sha256="", report={}
        )
        tx.add(row)
    x, y = np.arange(12, dtype=np.float32).reshape(6, 2), np.arange(6) % 2
    folder = store.dataset(row.id)
    data.save(data.Dataset(x=x, y=y, labels=("a", "b"), kind="vectors"), folder)
    return folder


def judged(database, store):
    """A job whose labels were judged, and their folder."""
    job_id = job(database, end="succeeded")
    folder = left(store, job_id, 1) / "run" / "result"
    folder.mkdir()
    for name in (reviews.FILE, reviews.REPORT):
        (folder / name).write_bytes(b"as they were")
    folders.write_json(folder / reviews.SUMS, {"sha256": folders.sums(folder)})
    with database.begin() as tx:
        tx.get_one(Job, job_id).result = {"labels": store.key(folder)}
    return folder


def told(place, folder, *, deep):
    """What is said of a folder."""
    return [found.what for found in doctor.examine(*place, deep=deep) if place[1].at(found.key) == folder]


@pytest.mark.parametrize(
    ("make", "part"), [(ready, "x.npy"), (ready, "y.npy"), (judged, reviews.FILE), (judged, reviews.REPORT)]
)
def test_a_deep_look_names_the_files_that_have_changed(place, make, part):
    folder = make(*place)
    assert told(place, folder, deep=True) == []
    content = (folder / part).read_bytes()
    (folder / part).write_bytes(content[:-1] + b"!")
    assert told(place, folder, deep=False) == []
    (changed,) = told(place, folder, deep=True)
    assert changed.endswith(f"have changed or are gone: {part}")
    (folder / part).unlink()
    (gone,) = told(place, folder, deep=True)
    assert gone == changed or (part == reviews.FILE and gone.endswith("are gone"))


@pytest.mark.parametrize(("make", "listing"), [(ready, "meta.json"), (judged, reviews.SUMS)])
@pytest.mark.parametrize("content", [b"{", b"[]", b'{"sha256": 3}', b"\xff"])
def test_a_list_of_sums_that_cannot_be_read_has_changed(place, make, listing, content):
    folder = make(*place)
    (folder / listing).write_bytes(content)
    (changed,) = told(place, folder, deep=True)
    assert changed.endswith(f"have changed or are gone: {listing}")


def test_a_folder_that_is_gone_is_a_loss_at_first_sight(place):
    read, labels, older = ready(*place), judged(*place), judged(*place)
    (read / "meta.json").unlink()
    (gone,) = told(place, read, deep=False)
    assert gone.startswith("the bytes of dataset ds_")
    (older / reviews.SUMS).unlink()
    assert told(place, older, deep=True) == []  # without a list of sums, as it was left then
    for folder in (labels, older):
        (folder / reviews.FILE).unlink()
        (gone,) = told(place, folder, deep=False)
        assert gone.startswith("the judged labels of job job_")


def test_labels_that_went_with_their_model_are_no_loss(place):
    folder = judged(*place)
    shutil.rmtree(folder)
    assert len(told(place, folder, deep=False)) == 1
    with place[0].begin() as tx:
        tx.delete(tx.scalars(select(Model)).one())
    assert told(place, folder, deep=True) == []


@pytest.mark.parametrize(("make", "row"), [(ready, Dataset), (judged, Model)])
def test_what_is_deleted_while_the_look_goes_on_is_no_loss(place, make, row, monkeypatch):
    database, store = place
    folder = make(*place)
    real = store.read

    def meanwhile(key, name):
        with database.begin() as tx:
            tx.delete(tx.scalars(select(row)).one())
        shutil.rmtree(folder)
        return real(key, name)

    monkeypatch.setattr(store, "read", meanwhile)
    assert told(place, folder, deep=True) == []


@pytest.fixture
def command(monkeypatch, capsys):
    """Runs `c2s doctor` in a home: its exit code and what it says of its failure."""

    def run(home):
        monkeypatch.setenv("C2S_HOME", str(home))
        settings.load.cache_clear()  # a command is a process of its own
        return cli.main(["doctor"]), capsys.readouterr().err

    yield run
    settings.load.cache_clear()


def test_the_command_says_where_there_is_nothing_to_look_at_and_makes_nothing(command, tmp_path):
    code, said = command(tmp_path / "none")
    assert (code, "there is no database" in said) == (2, True)
    assert not (tmp_path / "none").exists()


def test_the_command_says_that_a_database_is_not_the_service_s(command, tmp_path):
    (tmp_path / "c2s.sqlite3").touch()
    code, said = command(tmp_path)
    assert (code, "the version of the schema cannot be read" in said) == (2, True)
