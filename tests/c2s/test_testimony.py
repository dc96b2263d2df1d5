"""What was said of the labels before a run, and what a report must tell of it."""

import dataclasses

import numpy as np
import pytest

from c2s import data, testimony

CLEAN = np.arange(400) % 4


def rows(**more):
    rng = np.random.default_rng(0)
    y = np.where(rng.random(400) < 0.3, rng.integers(4, size=400), CLEAN)
    plain = data.from_arrays(rng.normal(size=(400, 2)), np.array(list("abcd"))[y])
    return dataclasses.replace(plain, **more)


def gold(count):
    return np.where(np.arange(400) < count, CLEAN, -1)


def told(dataset):
    train, holdout = testimony.spare(dataset, *data.split(dataset.y, 0.1, seed=0))
    assert len(train) + len(holdout) == 400
    return testimony.notes(dataset, train)


def test_a_matrix_of_gold_rows_needs_ten_of_each_class():
    assert testimony.matrix(rows()) is None
    assert testimony.matrix(rows(gold=gold(39))) is None
    (note,) = told(rows(gold=gold(39)))
    assert note == "No matrix is counted from the 39 gold rows: d has 9 of them, and each class needs 10."
    found = testimony.matrix(rows(gold=gold(40)))
    assert found.flagged == ()
    assert not np.allclose(found.T, np.eye(4))
    assert told(rows(gold=gold(40))) == []


def test_gold_rows_whose_labels_were_put_right_tell_nothing_of_the_noise():
    amended = np.zeros(400, np.int8)
    amended[:30] = data.BY_PERSON
    dataset = rows(gold=gold(60), amended=amended)
    right = dataclasses.replace(dataset, y=np.where(amended > 0, CLEAN, dataset.y))
    assert testimony.matrix(right) is None
    assert any("30 gold rows (30 more have labels that were put right): " in note for note in told(right))
    wider = dataclasses.replace(right, gold=gold(200))
    noise = 1 - np.diag(testimony.matrix(wider).T).mean()
    assert noise == pytest.approx(
        (right.y != CLEAN)[30:200].mean(), abs=0.05
    )  # those of all rows would be lower


def test_the_distance_that_chance_makes_shrinks_with_the_rows():
    few, many = (rows(gold=gold(count)) for count in (40, 400))
    words = [testimony.words(one, testimony.matrix(one).T) for one in (few, many)]
    chance = [float(text.rsplit(" ", 1)[1].rstrip(".")) for text in words]
    assert chance[0] > 2 * chance[1] > 0
    assert "40 gold rows, 10 to 10 a class" in words[0]


def test_gold_rows_beyond_those_held_out_are_told_of():
    (note,) = told(rows(gold=gold(200)))
    assert note.startswith(
        "200 rows are marked gold, more than the 20% of the training rows that are spared: the "
    )
    held, rest = (int(word) for word in note.replace(",", "").split() if word.isdigit() and word != "200")
    assert held + rest == 200


def test_a_class_whose_rows_are_all_gold_is_trained_on_all_the_same():
    y = np.where(np.arange(400) < 20, 3, np.arange(400) % 3)
    dataset = dataclasses.replace(rows(y=y), gold=np.where(y == 3, 3, -1))
    assert any("20 rows are marked gold, all of some class: " in note for note in told(dataset))


def test_labels_that_a_model_put_right_make_the_noise_look_less():
    amended = np.zeros(400, np.int8)
    amended[:50], amended[50:60] = data.BY_MODEL, data.BY_PERSON
    (note,) = told(rows(amended=amended))
    assert note.startswith("50 of 400 labels were put right by the model of an earlier job")
    assert "less than there is" in note
    assert told(rows(amended=np.where(amended == data.BY_PERSON, amended, 0).astype(np.int8))) == []
    assert testimony.reviewed(rows(amended=amended)).sum() == 10
    assert testimony.reviewed(rows()) is None


def test_at_most_the_rows_held_out_and_a_fifth_of_the_others_can_count():
    assert testimony.most_counted(rows(), 0.1, seed=0) == pytest.approx(40 + 72, abs=3)
