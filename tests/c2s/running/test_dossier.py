"""What a run leaves beside its model: judged labels, and a report that gold rows enter without being trained on."""

import dataclasses
import json

import numpy as np
import pytest

from c2s import config, data, pipeline, splits
from c2s.judging import held, reviews
from c2s.running import workbench

QUICK = {"epochs": 2, "batch_size": 32}


@pytest.fixture(scope="module")
def clean():
    return np.arange(200) % 4


@pytest.fixture(scope="module")
def rows(clean):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 4)).astype(np.float32) + 4 * np.eye(4)[clean]
    y = np.where(rng.random(200) < 0.2, rng.integers(4, size=200), clean)
    gold = np.where(np.arange(200) < 25, clean, -1)
    plain = data.from_arrays(x, np.array(list("abcd"))[y])
    return dataclasses.replace(plain, gold=gold)


def test_a_run_leaves_judged_labels_and_counts_its_gold_rows(rows, tmp_path):
    chosen = config.TrainConfig.parse({"stage1": QUICK, "stage2": QUICK, "merge": [["a", "d"]]})
    found = pipeline.run(rows, chosen, tmp_path / "run")
    assert found.card["labels"] == ["a", "b", "c"]
    assert len(found.T_c) == 3
    folder = found.folder.with_name("result")
    with reviews.Reviews(folder / reviews.FILE) as judged:
        assert (judged.rows, judged.classes) == (200, ("a", "b", "c"))
        assert judged.counts()["gold"] == 25
        (part,) = judged.verdicts()
        assert judged.naming.came == ("a", "b", "c", "d")
        assert np.array_equal(part.came, rows.y)  # as the file has them: d is not a
        listed = judged.page(reviews.Pair(given=3), after=-1, limit=1000).issues
        assert listed
        assert {rows.classes[rows.y[issue.row]] for issue in listed} == {"d"}
    given = held.load(folder / held.FILE)
    assert given.given.tolist() == [rows.y[int(name)] for name in given.ids]
    report = json.loads((folder / reviews.REPORT).read_text())
    assert report["out_of_sample"]
    assert report["worth"]["gold"]["rows"] >= 25
    assert report["worth"]["more_gold"] is None  # of 200 rows at most 56 can be held out
    assert "56" not in report["worth"]["gold_words"]
    assert "would make it" in report["worth"]["gold_words"]
    assert np.array(found.card["transition"]["interval"]["matrix"]).shape == (3, 3, 2)
    assert "gold" not in found.card["transition"]["alternatives"]
    assert (
        found.card["transition"]["rows"] == 200
    )  # behind the matrix: how far it is heard against the classifier
    np.testing.assert_array_equal(found.card["transition"]["matrix"], found.T_c)
    (few,) = (note for note in report["notes"] if "gold" in note)
    assert few.startswith("No matrix is counted from the 25 gold rows: b has 6 of them")
    assert "rows a class are fewer than" in found.card["transition"]["choice"]


def test_gold_rows_tell_the_accuracy_alone_and_the_rows_drawn_at_random_all_else(rows, clean, tmp_path):
    chosen = config.TrainConfig.parse(
        {"stage1": QUICK, "stage2": QUICK, "transition": {"posteriors": "in-sample"}}
    )
    border = np.sort(np.asarray(rows.x), axis=1)[:, -1:-3:-1] @ [1, -1]  # how far the first class is ahead
    gold = np.where(np.isin(np.arange(200), border.argsort()[:30]), clean, -1)
    train, drawn = splits.split(rows.y, chosen.validation, seed=chosen.seed)
    found = pipeline.run(dataclasses.replace(rows, gold=gold), chosen, tmp_path / "run")
    known = json.loads((found.folder.with_name("result") / reviews.REPORT).read_text())["worth"]
    assert (gold[train] >= 0).sum() > 20
    assert known["agreement"]["rows"] == len(drawn)
    assert known["gold"]["rows"] == 30
    held_out = held.load(found.folder.with_name("result") / held.FILE)
    right = [held_out.predicted[held_out.ids.index(str(row))] == rows.y[row] for row in drawn]
    assert known["agreement"]["value"] == pytest.approx(np.mean(right))


def test_gold_rows_carry_a_matrix_with_what_it_rests_on_and_settle_their_labels(rows, clean, tmp_path):
    chosen = config.TrainConfig.parse({"stage1": QUICK, "stage2": QUICK})
    dataset = dataclasses.replace(rows, gold=np.where(np.arange(200) < 60, clean, -1))
    found = pipeline.run(dataset, chosen, tmp_path / "run")
    counted = found.card["transition"]["alternatives"]["gold"]
    assert counted["distance"] > 0
    assert counted["note"].startswith("Counted from 60 gold rows, 15 to 15 a class")
    report = json.loads((found.folder.with_name("result") / reviews.REPORT).read_text())
    (left,) = (note for note in report["notes"] if "gold" in note)
    assert "60 rows are marked gold, more than the 20%" in left
    with reviews.Reviews(found.folder.with_name("result") / reviews.FILE) as judged:
        (part,) = judged.verdicts()
        assert np.array_equal(part.label[:60], clean[:60])
        listed = {issue.row for issue in judged.page(reviews.Pair(), after=-1, limit=1000).issues}
    assert {row for row in listed if row < 60} == set(np.flatnonzero(dataset.y[:60] != clean[:60]).tolist())


def test_agreement_is_counted_over_labels_that_nobody_put_right(rows, clean, tmp_path):
    chosen = config.TrainConfig.parse({"stage1": QUICK, "stage2": QUICK})
    amended = np.where(np.arange(200) < 25, data.BY_PERSON, 0).astype(np.int8)
    dataset = dataclasses.replace(rows, y=np.where(amended > 0, clean, rows.y), amended=amended)
    found = pipeline.run(dataset, chosen, tmp_path / "run")
    report = json.loads((found.folder.with_name("result") / reviews.REPORT).read_text())
    known = report["worth"]
    assert known["gold"]["rows"] >= 25
    assert 10 <= known["agreement"]["rows"] <= 20  # of those held out the gold ones were put right


def test_gold_rows_are_not_trained_on_unless_they_are_many(rows, tmp_path):
    def bench(dataset, name):
        quiet = {"device": "cpu", "report": lambda progress: None, "probe": None}
        return workbench.open_bench(dataset, config.TrainConfig(), tmp_path / name, **quiet)

    few = bench(rows, "few")
    assert not (rows.gold[few.train] >= 0).any()
    assert len(few.train) + len(few.holdout) == 200
    many = bench(dataclasses.replace(rows, gold=np.zeros(200, np.int64)), "many")
    assert len(many.train) > 170
