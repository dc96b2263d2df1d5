"""What a classifier is worth: right under class-conditional noise, silent where its assumption breaks."""

import dataclasses

import numpy as np
import pytest

from c2s.judging import worth
from c2s.matrix import dependence, intervals, noise


def labelled(rate=0.4, rows=4000, classes=5, right=0.9, seed=0):
    rng, T = np.random.default_rng(seed), noise.symmetric(classes, rate)
    clean = rng.integers(classes, size=rows)
    y = (T.cumsum(axis=1)[clean] < rng.random(rows)[:, None]).sum(axis=1).clip(0, classes - 1)
    predicted = np.where(rng.random(rows) < right, clean, (clean + 1) % classes)
    return clean, y, predicted, T


def appraised(predicted, y, T, against=()):
    return worth.appraise(predicted, y, T, bounds=None, against=against, rng=np.random.default_rng(0))


def test_an_accuracy_that_gold_rows_refute_is_withheld():
    _, y, predicted, T = labelled(rows=2000)
    known = appraised(predicted, y, T)
    assert known.clean is not None
    gold = np.where(
        np.arange(2000) < 100, (predicted + 1) % 5, -1
    )  # the classifier is wrong about each of them
    told = worth.counted(known, predicted, gold)
    assert told.clean is None
    assert "on the gold rows it is 0.0%" in told.withheld[-1]
    right = worth.counted(known, predicted, np.where(np.arange(2000) < 100, predicted, -1))
    assert right.clean == known.clean


def test_under_class_conditional_noise_the_interval_holds_the_clean_accuracy():
    held = []
    for seed in range(40):
        clean, y, predicted, T = labelled(seed=seed, rows=1500)
        found = appraised(predicted, y, T).clean
        held.append(found.low <= (predicted == clean).mean() <= found.high)
    assert np.mean(held) >= 0.9


def test_nothing_is_told_through_the_matrix_where_something_speaks_against_it():
    _, y, predicted, T = labelled()
    found = appraised(predicted, y, T, against=("because.",))
    assert found.clean is None
    assert found.withheld == ("because.",)
    assert found.agreement.low < found.agreement.value < found.agreement.high
    assert found.ceiling == pytest.approx(0.6)


def test_an_accuracy_over_one_and_a_singular_matrix_are_withheld():
    _, y, _, T = labelled()
    agreeing = appraised(y, y, T)  # a classifier that knows the noisy labels by heart
    assert agreeing.clean is None
    assert "wrong" in agreeing.withheld[0]
    assert "singular" in appraised(y, y, np.full((5, 5), 0.2)).withheld[0]


def test_a_matrix_that_may_as_well_be_singular_is_withheld(monkeypatch):
    _, y, predicted, T = labelled()
    bounds = intervals.sampled(T, y, rng=np.random.default_rng(0))
    monkeypatch.setattr(worth, "WELL_CONDITIONED", float(np.linalg.cond(T)) + 1e-9)  # and no draw is better
    wide = dataclasses.replace(
        bounds, matrix=intervals.Range(bounds.matrix.low - 0.3, bounds.matrix.high + 0.3)
    )
    found = worth.appraise(predicted, y, T, bounds=wide, against=(), rng=np.random.default_rng(0))
    assert found.clean is None
    assert "singular" in found.withheld[0]


def test_an_interval_that_says_nothing_of_a_row_breaks_no_draw():
    T, y = np.array([[0.6, 0.4], [0.3, 0.7]]), np.array([0, 1, 1])
    nothing = intervals.Range(np.zeros((2, 2)), np.ones((2, 2)))
    bounds = dataclasses.replace(intervals.sampled(T, y, rng=np.random.default_rng(0)), matrix=nothing)
    for seed in range(200):  # in some of them all of a row is drawn below zero
        found = worth.through_inverse(y, y, T, bounds=bounds, rng=np.random.default_rng(seed))
        assert found is None or np.isfinite(found.low + found.high)


def test_gold_rows_count_and_say_how_many_more_would_halve_the_interval():
    clean, y, predicted, T = labelled()
    gold = np.where(np.arange(len(clean)) < 100, clean, -1)
    found = worth.counted(appraised(predicted, y, T), predicted, gold)
    assert found.gold.rows == 100
    assert found.gold.value == (predicted == clean)[:100].mean()
    wide = found.gold.high - found.gold.low
    rows = found.gold.rows + found.more_gold
    more = worth.share(round(found.gold.value * rows), rows)
    assert (more.high - more.low) == pytest.approx(wide / 2, rel=0.1)
    assert worth.counted(found, predicted, np.full(len(y), -1)) == found


def test_rows_that_the_dataset_has_not_are_not_asked_for():
    clean, y, predicted, T = labelled(rows=500)
    gold = np.where(np.arange(500) < 100, clean, -1)
    enough, few, none = (
        worth.counted(appraised(predicted, y, T), predicted[:held], gold[:held]) for held in (400, 225, 100)
    )
    assert (enough.more_gold, enough.gold_words) == (300, None)
    assert few.more_gold is None
    assert few.plain()["gold_words"].endswith("all 125 that are left would make it 0.67 as wide.")
    assert none.gold_words.endswith("none is left.")


def test_a_share_is_never_a_bare_number():
    assert worth.share(0, 10).high > 0.2
    assert worth.share(10, 10).low < 0.8
    plain = appraised(*labelled()[2:0:-1], labelled()[3]).plain()
    assert set(plain["agreement"]) == {"value", "low", "high", "rows"}


def posterior(T, clean, rng):
    sure = rng.uniform(0.5, 1.0, size=len(clean))[:, None]
    return sure * T[clean] + (1 - sure) / len(T)


def test_noise_of_the_class_alone_is_seldom_taken_for_more():
    fired = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        clean, y, _, T = labelled(rows=2000, seed=seed)
        fired.append(dependence.examine(posterior(T, clean, rng), y, T).found)
    assert np.mean(fired) <= 0.05


def test_labels_made_by_a_rule_are_found_out():
    rng, T = np.random.default_rng(1), noise.symmetric(5, 0.4)
    clean = rng.integers(5, size=3000)
    rule = rng.random(3000) < 0.3  # a word in the row, which the net can read as well
    y = np.where(rule, (clean + 1) % 5, clean)
    seen = posterior(T, clean, rng)
    seen[rule, clean[rule]] *= 0.6
    found = dependence.examine(seen / seen.sum(axis=1, keepdims=True), y, T)
    assert found.found
    assert "rule-made" in found.reasons[0] or "more than the class" in found.reasons[-1]


def test_the_ceiling_is_the_largest_share_of_each_class():
    assert dependence.ceiling(noise.symmetric(4, 0.25), np.full(4, 0.25)) == pytest.approx(0.75)
    assert dependence.ceiling(np.array([[0.3, 0.7], [0.0, 1.0]]), np.array([0.5, 0.5])) == pytest.approx(0.85)


def test_a_handful_of_rows_that_all_agree_is_no_certainty():
    six = np.arange(6) % 2
    found = appraised(six, six, np.eye(2))
    assert found.clean.value == 1
    assert found.clean.low == pytest.approx(found.agreement.low)
    assert found.clean.low < 0.65


def test_a_ceiling_that_was_counted_from_few_rows_is_not_certain_either():
    T, y = noise.symmetric(4, 0.4), np.repeat(np.arange(4), 100)
    P = np.full((400, 4), 0.1)
    P[np.arange(400), np.where(np.arange(400) % 1000 < 258, y, (y + 1) % 4)] = 0.7  # agrees with 64.5 %
    assert not dependence.examine(P, y, T).found
    assert dependence.examine(np.tile(P, (4, 1)), np.tile(y, 4), T).found
