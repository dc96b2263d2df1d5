"""One figure of rows asked for and of gold rows: right however gold rows were chosen, and sharper if at random."""

import numpy as np
import pytest

from c2s.judging import gold, pooling, worth

ROWS, HELD, ASKED, GOLD = 4000, 900, 80, 200


def world(rng, *, chosen):
    """A classifier on all rows of a dataset: its accuracy, what rows asked for tell of it, and what gold ones do."""
    confidence = np.where(rng.random(ROWS) < 0.7, rng.beta(40, 0.5, size=ROWS), rng.beta(3, 1.5, size=ROWS))
    right = rng.random(ROWS) < confidence
    wanted = np.argsort(confidence * rng.uniform(0.5, 1, size=ROWS)) if chosen else rng.permutation(ROWS)
    marked = np.zeros(ROWS, np.bool_)
    marked[wanted[:GOLD]] = True  # if chosen, rather rows that it is unsure of
    held = rng.permutation(np.flatnonzero(~marked))[:HELD]
    design = gold.design(confidence[held], seed=int(rng.integers(1000)))
    asked = design.order[:ASKED]
    found = gold.estimate(design, asked, right[held][asked])
    return right.mean(), found, pooling.Marked(worth.share(int(right[marked].sum()), GOLD), GOLD / ROWS)


def tried(*, chosen, random, trials=300):
    rng, off, held, widths, hows = np.random.default_rng(3), [], [], [], []
    for _ in range(trials):
        truth, asked, marked = world(rng, chosen=chosen)
        one = pooling.pool(asked, marked, random=random, left=HELD - ASKED)
        off.append(one.found.value - truth)
        held.append(one.found.low <= truth <= one.found.high)
        widths.append([part.high - part.low for part in (one.found, asked, marked.found)])
        hows.append(one.how)
    return np.array(off), np.mean(held), np.mean(widths, axis=0), hows


@pytest.mark.parametrize("chosen", [True, False])
def test_the_figure_is_unbiased_and_holds_the_truth_however_gold_rows_were_chosen(chosen):
    off, held, widths, hows = tried(chosen=chosen, random=False)
    assert set(hows) == {"share"}
    assert abs(off.mean()) < 3 * off.std() / np.sqrt(len(off))
    assert held >= 0.93
    assert widths[0] < widths[1]  # never wider than without gold rows


def test_gold_rows_that_were_drawn_at_random_make_it_narrower_than_either_sample():
    off, held, widths, hows = tried(chosen=False, random=True)
    assert hows.count("random") > 0.97 * len(hows)
    assert abs(off.mean()) < 3 * off.std() / np.sqrt(len(off))
    assert held >= 0.93
    assert widths[0] < 0.9 * widths[1:].min()


def test_gold_rows_that_differ_by_more_than_chance_are_not_taken_for_random():
    _, asked, marked = world(np.random.default_rng(0), chosen=True)
    one = pooling.pool(asked, marked, random=True, left=500)
    assert one.how == "share"
    assert "by more than chance" in one.words
    assert "5.0% of all rows" in one.words
    assert one.found.rows == ASKED + GOLD
    assert one.found.value == pytest.approx(0.05 * marked.found.value + 0.95 * asked.value)


@pytest.mark.parametrize("random", [True, False])
def test_the_further_rows_that_are_named_halve_the_interval(random):
    asked, wide = gold.Counted(0.8, 0.7, 0.87, 50, 60.0, None, None), 100_000
    marked = pooling.Marked(worth.share(40, 50), 0.02)
    one = pooling.pool(asked, marked, random=random, left=wide)
    times = 1 + one.more / 50
    again = gold.Counted(0.8, 0.7, 0.87, 50 + one.more, 60 * times, None, None)
    later = pooling.pool(again, marked, random=random, left=wide).found
    assert later.high - later.low == pytest.approx((one.found.high - one.found.low) / 2, rel=0.05)
    assert one.further is None


def test_where_too_few_rows_are_left_it_says_what_all_of_them_would_do():
    asked, marked = (
        gold.Counted(0.8, 0.7, 0.87, 50, 60.0, None, None),
        pooling.Marked(worth.share(40, 50), 0.02),
    )
    few = pooling.pool(asked, marked, random=False, left=10)
    assert few.more is None
    assert "all 10 that are left would make it 0.91 as wide" in few.further
    assert pooling.pool(asked, marked, random=False, left=0).further == "No row is left to look at."
