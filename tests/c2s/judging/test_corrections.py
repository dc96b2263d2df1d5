"""Labels put right in a new folder that shares the bytes of its rows with the old one."""

import dataclasses
import io

import numpy as np
import pytest

from c2s import data, errors
from c2s.judging import corrections


def rows(count=200):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(count, 3)).astype(np.float32), rng.integers(0, 3, count)
    return data.Dataset(
        x, y, ("a", "b", "c"), "vectors", tuple(f"r{i}" for i in range(count)), gold=np.where(y == 0, y, -1)
    )


def changes(**more):
    plain = {
        "rows": np.array([1, 5]), "labels": np.array([0, 2]), "reviewed": np.array([True, False]),
        "become": np.arange(3), "kept": np.arange(3),
    }  # fmt: skip
    return corrections.Changes(**(plain | more))


def test_changes_are_read_as_they_were_written_and_equal_ones_are_the_same_bytes(tmp_path):
    first, second = io.BytesIO(), io.BytesIO()
    changes(gold=True).save(first)
    changes(gold=True).save(second)
    assert first.getvalue() == second.getvalue()
    (tmp_path / "changes").write_bytes(first.getvalue())
    found = corrections.Changes.load(tmp_path / "changes")
    for name, value in vars(changes(gold=True)).items():
        assert np.array_equal(getattr(found, name), value)


def test_the_new_folder_is_a_dataset_and_shares_the_bytes_of_its_inputs(tmp_path):
    before = rows()
    data.save(before, tmp_path / "before")
    (tmp_path / "before" / "beside").write_text("more")
    changes().apply(tmp_path / "before", tmp_path / "after", beside=("beside", "none"))
    after = data.load(tmp_path / "after")
    wanted = np.array(before.y)
    wanted[[1, 5]] = 0, 2
    assert np.array_equal(after.y, wanted)
    assert np.array_equal(after.gold, before.gold)
    assert (after.ids, after.labels) == (before.ids, before.labels)
    assert (tmp_path / "after" / "x.npy").samefile(tmp_path / "before" / "x.npy")
    assert (tmp_path / "after" / "beside").read_text() == "more"
    amended = np.zeros(200, np.int8)
    amended[[1, 5]] = data.BY_PERSON, data.BY_MODEL
    assert np.array_equal(after.amended, amended)
    assert np.array_equal(after.given, before.y)
    known = {"gold": before.gold, "amended": amended, "given": before.y}
    whole = data.Dataset(before.x, wanted, before.labels, "vectors", before.ids, **known)
    data.save(whole, tmp_path / "whole")
    assert after.digest() == whole.digest()
    assert np.array_equal(data.load(tmp_path / "before").y, before.y)  # which never changes


def test_every_file_is_as_its_sum_says(tmp_path):
    from c2s import folders, slices

    data.save(rows(), tmp_path / "before")
    changes(gold=True).apply(tmp_path / "before", tmp_path / "after")
    assert len(slices.Reader(tmp_path / "after")) == 200  # which compares
    meta = folders.read_json(tmp_path / "after" / "meta.json")
    assert set(meta["sha256"]) == {path.name for path in (tmp_path / "after").iterdir()} - {"meta.json"}
    import pyarrow.feather

    table = pyarrow.feather.read_table(tmp_path / "after" / "rows.arrow")
    assert table["label"].to_pylist()[:2] == [rows().classes[rows().y[0]], "a"]


def test_what_people_decided_is_gold_where_asked_and_classes_are_renumbered(tmp_path):
    before = rows()
    data.save(before, tmp_path / "before")
    every = np.flatnonzero(before.y == 1)
    fewer = changes(
        rows=every, labels=np.ones(len(every), dtype=np.int64), reviewed=np.arange(len(every)) < 2, gold=True,
        become=np.array([0, -1, 1]), kept=np.array([0, 2]),
    )  # fmt: skip
    fewer.apply(tmp_path / "before", tmp_path / "after")
    after = data.load(tmp_path / "after")
    assert after.labels == ("a", "c")
    assert np.array_equal(after.y, np.where(before.y == 0, 0, 1))
    gold = np.where(before.y == 0, 0, -1)
    gold[every[:2]] = 1
    assert np.array_equal(after.gold, gold)


def test_a_class_with_rows_cannot_be_left_out_and_nothing_appears(tmp_path):
    data.save(rows(), tmp_path / "before")
    with pytest.raises(errors.InvalidDataset):
        changes(become=np.array([0, -1, 1]), kept=np.array([0, 2])).apply(
            tmp_path / "before", tmp_path / "after"
        )
    assert {path.name for path in tmp_path.iterdir()} == {"before"}


def test_whose_a_label_is_stays_known_through_further_corrections(tmp_path):
    data.save(rows(), tmp_path / "first")
    changes().apply(tmp_path / "first", tmp_path / "second")
    again = changes(rows=np.array([5, 9]), labels=np.array([1, 1]), reviewed=np.array([True, False]))
    again.apply(tmp_path / "second", tmp_path / "third")
    found = data.load(tmp_path / "third").amended
    assert found[[1, 5, 9]].tolist() == [data.BY_PERSON, data.BY_PERSON, data.BY_MODEL]
    assert np.count_nonzero(found) == 3
    assert data.load(tmp_path / "first").amended is None


def test_a_later_word_of_a_person_on_a_gold_row_is_its_gold_label_from_then_on(tmp_path):
    before = rows()
    data.save(before, tmp_path / "before")
    known, other = np.flatnonzero(before.gold == 0)[0], np.flatnonzero(before.gold < 0)[0]
    both = np.sort([known, other])
    changes(rows=both, labels=np.array([2, 2]), reviewed=np.array([True, True])).apply(
        tmp_path / "before", tmp_path / "after"
    )
    gold = data.load(tmp_path / "after").gold
    assert (gold[known], gold[other]) == (2, -1)
    assert (gold >= 0).sum() == (before.gold >= 0).sum()


def test_labels_as_they_came_stay_known_through_further_corrections_if_the_first_kept_them(tmp_path):
    before = rows()
    data.save(before, tmp_path / "first")
    changes().apply(tmp_path / "first", tmp_path / "second")
    changes(rows=np.array([5, 9]), labels=np.array([1, 1])).apply(tmp_path / "second", tmp_path / "third")
    assert np.array_equal(data.load(tmp_path / "third").given, before.y)
    older = data.load(tmp_path / "second")
    data.save(dataclasses.replace(older, given=None), tmp_path / "older")
    changes().apply(tmp_path / "older", tmp_path / "newer")
    assert data.load(tmp_path / "newer").given is None


def test_a_label_that_came_with_a_class_that_is_gone_is_none_of_the_others(tmp_path):
    before = rows()
    data.save(before, tmp_path / "before")
    every = np.flatnonzero(before.y == 1)
    changes(
        rows=every, labels=np.ones(len(every), dtype=np.int64), reviewed=np.ones(len(every), dtype=np.bool_),
        become=np.array([0, -1, 1]), kept=np.array([0, 2]),
    ).apply(tmp_path / "before", tmp_path / "after")  # fmt: skip
    assert np.array_equal(data.load(tmp_path / "after").given, np.array([0, -1, 1])[before.y])
