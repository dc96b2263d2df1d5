"""Which rows to look at: the interval is narrower than by rows at random, it still covers, and nothing is biased."""

import numpy as np
import pytest

from c2s.judging import gold, worth

ASKED = 60


def world(rng, *, rows=2000, honest=True):
    """How sure a classifier is of each row, and where it is right; one that is not honest is too sure."""
    confidence = np.where(rng.random(rows) < 0.7, rng.beta(40, 0.5, size=rows), rng.beta(3, 1.5, size=rows))
    chance = confidence if honest else confidence**2
    return confidence, rng.random(rows) < chance


@pytest.mark.parametrize("honest", [True, False])
def test_the_interval_is_narrower_than_by_random_rows_and_holds_the_truth(honest):
    rng = np.random.default_rng(4)
    widths, held, off = [], [], []
    for trial in range(300):
        confidence, right = world(rng, honest=honest)
        truth = float((confidence if honest else confidence**2).mean())
        design = gold.design(confidence, seed=trial)
        asked, drawn = design.order[:ASKED], rng.permutation(len(right))[:ASKED]
        mine = gold.estimate(design, asked, right[asked])
        plain = worth.share(int(right[drawn].sum()), ASKED)
        widths.append((mine.high - mine.low, plain.high - plain.low))
        held.append(mine.low <= truth <= mine.high)
        off.append(mine.value - truth)
    ours, theirs = np.mean(widths, axis=0)
    assert ours < 0.85 * theirs
    assert np.mean(held) >= 0.92
    assert abs(np.mean(off)) < 3 * np.std(off) / np.sqrt(len(off))


def test_doubtful_rows_are_asked_for_more_often_than_sure_ones():
    confidence, _ = world(np.random.default_rng(0))
    asked = gold.design(confidence, seed=1).order[:ASKED]
    assert confidence[asked].mean() < confidence.mean() - 0.03


def test_a_larger_request_holds_the_smaller_one_and_the_seed_decides():
    confidence, _ = world(np.random.default_rng(0), rows=300)
    one, same, other = (gold.design(confidence, seed=seed).order for seed in (1, 1, 2))
    assert sorted(one) == list(range(300))
    np.testing.assert_array_equal(one, same)
    assert (one[:50] != other[:50]).any()


def test_four_times_the_rows_about_halve_the_interval():
    confidence, right = world(np.random.default_rng(2), rows=20_000)
    design = gold.design(confidence, seed=0)
    few = gold.estimate(design, design.order[:100], right[design.order[:100]])
    many = design.order[: 100 + few.more]
    found = gold.estimate(design, many, right[many])
    assert (found.high - found.low) / (few.high - few.low) == pytest.approx(0.5, abs=0.1)


def test_no_more_rows_are_asked_for_than_were_held_out():
    confidence, right = world(np.random.default_rng(2), rows=300)
    design = gold.design(confidence, seed=0)
    found = gold.estimate(design, design.order[:100], right[design.order[:100]])
    assert found.more is None
    assert "all 200 that are left" in found.words


def test_without_a_row_of_every_stratum_nothing_is_said():
    confidence, right = world(np.random.default_rng(2), rows=100)
    design = gold.design(confidence, seed=0)
    rows = np.flatnonzero(design.stratum == 0)
    assert gold.estimate(design, rows, right[rows]) is None


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_very_few_rows_held_out_are_all_asked_for(rows):
    design = gold.design(np.full(rows, 0.9), seed=0)
    assert sorted(design.order) == list(range(rows))
    found = gold.estimate(design, design.order, np.ones(rows, np.bool_))
    assert found.low < found.value == 1


def test_where_every_row_held_out_is_known_none_is_asked_for():
    assert len(gold.design(np.empty(0), seed=0).order) == 0
