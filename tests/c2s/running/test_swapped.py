"""Labels that are mostly those of another class: what predicts them as they are given knows no class."""

import dataclasses
import json

import numpy as np
import pytest

from c2s import config, data, errors, pipeline
from c2s.learning import evaluation

C = 3
NEXT = np.roll(np.eye(C), 1, axis=1)


def blobs(rows=450, kept=0.3, seed=0):
    """Rows whose labels are those of the next class, but for some."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, C, rows)
    centres = np.array([[4.0, 0, 0], [0, 4, 0], [0, 0, 4]])
    x = (centres[truth] + rng.normal(size=(rows, C))).astype(np.float32)
    y = np.where(rng.random(rows) < kept, truth, (truth + 1) % C)
    return data.from_arrays(x, y), x, truth


def trained(dataset, folder, **more):
    stage = {"epochs": 12, "batch_size": 32, "learning_rate": 0.01}
    raw = {"stage1": stage, "stage2": stage, "net": {"name": "mlp", "hidden": [16]}}
    return pipeline.run(dataset, config.TrainConfig.parse(raw | more), folder / "run")


def test_a_corrected_classifier_is_judged_by_the_labels_that_its_classes_are_given():
    probs = np.array([[0.8, 0.1, 0.1], [0.1, 0.1, 0.8]])
    assert evaluation.expected(probs, np.eye(C)).tolist() == [0, 2]
    assert evaluation.expected(probs, NEXT).tolist() == [1, 0]
    assert evaluation.judged(probs, NEXT, np.array([1, 0]))["accuracy"] == 1.0


@pytest.mark.parametrize("method", ["forward", "auto"])
def test_a_given_matrix_that_swaps_classes_is_taken_at_its_word_by_the_classifier(tmp_path, method):
    dataset, x, truth = blobs(kept=0)
    found = trained(dataset, tmp_path, method=method, transition={"matrix": NEXT.tolist()})
    assert found.kept.startswith("stage2")
    assert evaluation.accuracy(found.net, x, truth) > 0.9


def test_a_model_that_predicts_swapped_labels_is_told_to_do_so(tmp_path):
    dataset, _, _ = blobs(kept=0)
    found = trained(dataset, tmp_path, method="ce", transition={"matrix": NEXT.tolist()})
    (note,) = [note for note in found.notes if "mostly labelled as another class" in note]
    assert "(0 as 1, 1 as 2, 2 as 0)" in note
    assert '"forward" learns the classes behind them' in note


def marked(dataset, truth, count):
    return dataclasses.replace(dataset, gold=np.where(np.arange(len(truth)) < count, truth, -1))


def test_gold_rows_that_refute_the_matrix_withhold_what_rests_on_it(tmp_path):
    dataset, _, truth = blobs()
    found = trained(marked(dataset, truth, 75), tmp_path, method="forward")
    assert any(note.startswith("The gold rows contradict the matrix: ") for note in found.notes)
    report = json.loads((tmp_path / "run" / "result" / "report.json").read_text())
    assert report["worth"]["clean"] is None
    assert any("contradict the matrix" in reason for reason in report["worth"]["withheld"])
    assert report["worth"]["gold"]["value"] < 0.5


def test_a_matrix_that_is_counted_from_gold_rows_finds_the_classes_behind_swapped_labels(tmp_path):
    dataset, x, truth = blobs()
    asked = {"estimator": "gold"}
    found = trained(marked(dataset, truth, 75), tmp_path, method="forward", transition=asked)
    assert found.estimator == "gold"
    assert evaluation.accuracy(found.net, x, truth) > 0.9
    assert not any("contradict" in note for note in found.notes)
    told = found.card["transition"]
    assert (told["rows"], told["interval"]["basis"]) == (75, "sampling")
    low, high = np.moveaxis(np.array(told["interval"]["matrix"]), 2, 0)
    assert ((low <= found.T_c) & (found.T_c <= high)).all()
    assert (high - low).max() > 0.25, "25 rows a class say no more"


def test_a_matrix_of_gold_rows_is_refused_before_training_where_there_are_too_few(tmp_path):
    dataset, _, truth = blobs()
    with pytest.raises(errors.InvalidConfig, match="each class needs 10"):
        trained(marked(dataset, truth, 20), tmp_path, transition={"estimator": "gold"})
    assert not list((tmp_path / "run").glob("stage1*"))
