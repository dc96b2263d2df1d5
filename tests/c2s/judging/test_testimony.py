"""What was said of the labels before a run, and what a report must tell of it."""

import dataclasses

import numpy as np
import pytest

from c2s import data, errors, splits
from c2s.judging import testimony

CLEAN = np.arange(400) % 4


def rows(**more):
    rng = np.random.default_rng(0)
    y = np.where(rng.random(400) < 0.3, rng.integers(4, size=400), CLEAN)
    plain = data.from_arrays(rng.normal(size=(400, 2)), np.array(list("abcd"))[y])
    return dataclasses.replace(plain, **more)


def gold(count):
    return np.where(np.arange(400) < count, CLEAN, -1)


def told(dataset):
    train, holdout = testimony.spare(dataset, *splits.split(dataset.y, 0.1, seed=0))
    assert len(train) + len(holdout) == 400
    T_c = found.T if (found := testimony.matrix(dataset)) else np.eye(4)
    return testimony.notes(dataset, train, T_c)


def test_a_matrix_of_gold_rows_needs_ten_of_each_class():
    assert testimony.matrix(rows()) is None
    assert testimony.matrix(rows(gold=gold(39))) is None
    (note,) = told(rows(gold=gold(39)))
    assert note == "No matrix is counted from the 39 gold rows: d has 9 of them, and each class needs 10."
    found = testimony.matrix(rows(gold=gold(40)))
    assert found.flagged == ()
    assert not np.allclose(found.T, np.eye(4))
    assert told(rows(gold=gold(40))) == []


def test_gold_rows_that_refute_a_matrix_say_so_and_what_to_ask_for():
    dataset = rows(gold=gold(200))
    counted = testimony.matrix(dataset).T
    assert testimony.contradiction(dataset, counted) is None
    assert testimony.contradiction(dataset, 0.9 * counted + 0.025) is None, "no more than chance"
    said = testimony.contradiction(dataset, np.roll(counted, 1, axis=1))
    wrong = (dataset.y != CLEAN)[:200].mean()
    assert said.startswith(f"The gold rows contradict the matrix: {wrong:.0%} of the 200 have a wrong label")
    assert '{"estimator": "gold"}' in said
    assert testimony.contradiction(rows(gold=gold(39)), np.eye(4)) is None, "too few to say"


def test_counts_that_are_all_alike_are_not_certain():
    swapped = dataclasses.replace(rows(gold=gold(400)), y=(CLEAN + 1) % 4)
    T = testimony.matrix(swapped).T
    assert set(T.ravel()) == {0.0, 1.0}
    assert float(testimony.words(swapped, T).rsplit(" ", 1)[1].rstrip(".")) > 0


def test_a_matrix_that_gold_rows_cannot_carry_is_refused_in_words():
    testimony.require_matrix(rows(gold=gold(40)))
    with pytest.raises(
        errors.InvalidConfig, match="no matrix is counted from the 39 gold rows: d has 9 of them"
    ):
        testimony.require_matrix(rows(gold=gold(39)))
    with pytest.raises(errors.InvalidConfig, match="none is marked"):
        testimony.require_matrix(rows())


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


@pytest.mark.parametrize("gold", [0, 30, 60, 200, 400])
def test_how_many_gold_rows_are_held_out_is_known_from_counts_to_a_few_rows(gold):
    dataset = rows(gold=np.where(np.arange(400) < gold, 0, -1))
    of = [np.bincount(y, minlength=len(dataset.labels)) for y in (dataset.y, dataset.y[:gold])]
    exact = testimony.spared(dataset, 0.1, seed=0)
    assert testimony.likely_spared(*of, 0.1) == pytest.approx(exact, abs=6)
    assert (exact > 0) == (gold in (30, 60))


@pytest.mark.parametrize("share", [0.1, 0.5, 1.0])
def test_the_matrix_of_labels_as_they_came_is_found_from_that_of_labels_of_which_some_were_put_right(share):
    rng = np.random.default_rng(1)
    clean = np.arange(40_000) % 4
    T = (
        np.full((4, 4), 0.05)
        + np.diag([0.8, 0.8, 0.5, 0.8])
        + 0.3 * np.eye(4)[[3, 3, 3, 2]] * [[0], [0], [1], [0]]
    )
    given = (rng.random((40_000, 1)) > T.cumsum(axis=1)[clean]).sum(axis=1)
    y = np.where(rng.random(40_000) < share, clean, given)
    plain = data.from_arrays(np.zeros((40_000, 1)), np.array(list("abcd"))[y])
    dataset = dataclasses.replace(plain, given=given, amended=(y != given).astype(np.int8))
    now = np.stack([np.bincount(y[clean == k], minlength=4) / 10_000 for k in range(4)])
    np.testing.assert_allclose(testimony.as_given(dataset, now), T, atol=0.02)
    (note,) = told_of(dataset)
    assert note.startswith(f"{(y != given).sum()} of 40000 labels are others than they came with")


def told_of(dataset):
    return testimony.notes(dataset, np.arange(len(dataset)), np.eye(len(dataset.labels)))


def test_labels_of_which_none_was_changed_have_one_matrix():
    plain = rows()
    assert testimony.as_given(plain, np.eye(4)) is None
    kept = dataclasses.replace(plain, given=plain.y, amended=np.ones(400, np.int8))
    assert testimony.as_given(kept, np.eye(4)) is None
    assert testimony.put_right(kept) == {"by_people": 400, "by_model": 0}
    assert testimony.put_right(plain) is None


def test_labels_that_were_put_right_do_not_tell_how_often_labels_agree():
    amended = np.where(np.arange(400) < 100, data.BY_PERSON, 0).astype(np.int8)
    held = np.arange(80, 130)
    assert testimony.untouched(rows(amended=amended), held).tolist() == [False] * 20 + [True] * 30
    assert testimony.untouched(
        rows(amended=amended), np.arange(105)
    ).all()  # five are too few to tell anything
    assert testimony.untouched(rows(), held).all()
