"""Large uploads, read by a worker."""

import hashlib

import pytest

from app.core import datasets, ids, jobs
from app.core.tables import Dataset, Intake
from c2s import data

CSV = "a,b,label\n" + "".join(f"{i % 7},{i % 3},{'xy'[i % 2]}\n" for i in range(60))


@pytest.fixture
def upload(home):
    def place(text, **options):
        dataset_id = ids.new("ds")
        source = home.store.source(dataset_id)
        source.parent.mkdir(parents=True)
        source.write_text(text)
        row = Dataset(id=dataset_id, name="up", state=Intake.validating, options=options, bytes=len(text))
        row.source_sha256 = hashlib.sha256(text.encode()).hexdigest()
        with home.db.begin() as tx:
            tx.add(row)
            tx.flush()
            job = jobs.create(tx, row, task="ingest", config={}, manifest={})
        return dataset_id, job.id

    return place


def found(home, dataset_id):
    with home.db.read() as tx:
        return datasets.find(tx, dataset_id)


def test_a_large_upload_becomes_a_dataset(home, upload):
    dataset_id, _ = upload(CSV)
    (home.store.dataset(dataset_id)).mkdir()  # an attempt before this one died here
    (home.store.dataset(dataset_id) / "x.npy").write_text("half")
    job = home.do()
    assert (job.state, job.result) == ("succeeded", {"refused": False})
    row, folder = found(home, dataset_id), home.store.dataset(dataset_id)
    assert (row.state, row.rows, row.classes) == ("ready", 60, ["x", "y"])
    assert row.sha256 == data.load(folder).digest()
    assert row.shape == data.load(folder).shape.plain()
    assert [path.name for path in folder.parent.iterdir()] == ["data"]
    assert home.store.attempts(job.id) == []


def test_a_file_that_cannot_be_used_is_refused_and_deleted(home, upload):
    dataset_id, _ = upload("a,b\n1,2\n3,4\n")
    job = home.do()
    assert (job.state, job.result) == ("succeeded", {"refused": True})
    row = found(home, dataset_id)
    assert row.state == "refused"
    assert row.error["errors"][0]["code"] == "no_label_column"
    assert not home.store.source(dataset_id).parent.exists()


def test_an_upload_that_can_never_be_read_does_not_validate_for_ever(home, upload):
    dataset_id, _ = upload(CSV)
    home.store.source(dataset_id).unlink()
    job = home.do()
    assert (job.state, job.error["code"]) == ("failed", "internal")
    row = found(home, dataset_id)
    assert (row.state, row.error["code"]) == ("refused", "internal")


def test_an_upload_is_read_while_all_slots_train(home, upload, monkeypatch):
    from worker import slots, tasks

    upload(CSV)
    monkeypatch.setattr(slots, "_take", lambda count: None)
    assert tasks.turn(home.site)
    assert not tasks.turn(home.site)
