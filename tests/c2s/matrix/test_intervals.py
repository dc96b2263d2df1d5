"""Intervals: they hold the truth about as often as they say, and are honest where nothing was counted."""

import numpy as np
import pytest

from c2s.matrix import estimation, intervals, noise, proportions, transition


def judged(rows, T, rng, *, right=0.99):
    """Posteriors of a net that has the clean class of most rows right and is calibrated for the noisy labels."""
    classes = len(T)
    clean = rng.integers(classes, size=rows)
    sure = rng.uniform(2 * right - 1, 1.0, size=rows)
    seen = np.where(rng.random(rows) < sure, clean, rng.integers(classes, size=rows))
    P = sure[:, None] * T[seen] + (1 - sure[:, None]) * T.mean(axis=0)
    y = (T.cumsum(axis=1)[clean] < rng.random(rows)[:, None]).sum(axis=1).clip(0, classes - 1)
    return P, y, clean


@pytest.mark.parametrize(("classes", "rate"), [(3, 0.2), (5, 0.4)])
def test_nine_to_ninety_nine_in_a_hundred_intervals_hold_the_truth(classes, rate):
    T, rng = noise.symmetric(classes, rate), np.random.default_rng(5)
    held = []
    for _ in range(12):
        P, y, clean = judged(1200, T, rng)
        found = intervals.resampled(intervals.confident, P, y, rng=rng)
        priors = np.bincount(clean)
        truth = {
            "matrix": T,
            "similarity": transition.similarity_from_class(T, priors),
            "rates": np.array(transition.noise_rates(T, priors)),
        }
        ends = {name: getattr(found, name) for name in truth}
        inside = [(ends[name].low <= true) & (true <= ends[name].high) for name, true in truth.items()]
        held += [np.concatenate([part.ravel() for part in inside])]
    assert 0.90 <= np.mean(held) <= 0.99


def test_rows_in_the_wrong_class_widen_the_interval_towards_less_noise_and_it_holds_the_truth():
    T, rng = noise.symmetric(4, 0.2), np.random.default_rng(6)
    clean = rng.integers(4, size=3000)
    logits = (
        1.2 * np.eye(4)[clean] + rng.normal(size=(3000, 4)) / 1.2
    )  # a fifth of the rows look like another class
    posterior = np.exp(logits * 1.7)
    P = posterior / posterior.sum(axis=1, keepdims=True) @ T
    y = (T.cumsum(axis=1)[clean] < rng.random(3000)[:, None]).sum(axis=1).clip(0, 3)
    found = intervals.resampled(intervals.confident, P, y, rng=rng)
    T_hat = intervals.confident(P, y)
    counted = transition.noise_rates(T_hat, transition.clean_priors(T_hat, np.bincount(y))).class_
    assert (P.argmax(axis=1) == clean).mean() < 0.85
    assert counted > 0.27
    assert found.rates.low[0] <= 0.2 <= found.rates.high[0]
    assert counted <= found.rates.high[0] < 0.4


def test_beyond_the_fit_of_many_classes_the_surer_rows_show_the_way(monkeypatch):
    T, rng = noise.symmetric(4, 0.3), np.random.default_rng(8)
    P, y, _ = judged(2000, T, rng)
    monkeypatch.setattr(intervals, "CLASSES", 3)
    found = intervals.resampled(intervals.confident, P, y, rng=rng)
    assert ((found.matrix.low <= T) & (found.matrix.high >= T)).mean() > 0.85


def test_a_low_end_of_less_than_half_a_row_is_nothing():
    T, rng = noise.pair_flip(4, 0.3), np.random.default_rng(9)
    P, y, _ = judged(1500, T, rng)
    found = intervals.resampled(intervals.confident, P, y, rng=rng)
    assert (found.matrix.low[T == 0] == 0).mean() > 0.9


def test_an_interval_holds_its_estimate_and_narrows_with_rows():
    T, rng = noise.symmetric(4, 0.3), np.random.default_rng(1)
    widths = []
    for rows in (400, 6400):
        P, y, _ = judged(rows, T, rng)
        found = intervals.resampled(intervals.confident, P, y, rng=rng)
        chosen = intervals.confident(P, y)
        assert (found.matrix.low <= chosen).all()
        assert (chosen <= found.matrix.high).all()
        assert found.basis == "rows"
        widths.append((found.matrix.high - found.matrix.low).mean())
    assert widths[1] < widths[0] / 2


def test_an_entry_that_was_never_counted_may_still_be_more_than_nothing():
    P, y = np.repeat(np.eye(2) * 0.9 + 0.05, 20, axis=0), np.repeat([0, 1], 20)
    found = intervals.resampled(intervals.confident, P, y, rng=np.random.default_rng(0))
    assert intervals.confident(P, y)[0, 1] == 0
    assert 0.05 < found.matrix.high[0, 1] < 0.3


def test_nets_that_differ_between_folds_widen_the_interval():
    T, rng = noise.symmetric(3, 0.3), np.random.default_rng(2)
    P, y, _ = judged(3000, T, rng)
    folds = np.arange(3000) % 5
    poor = P.copy()
    poor[folds == 0] = poor[folds == 0][:, [1, 2, 0]]  # the net of one fold takes every class for another
    widths = []
    for numbers in (folds, None):
        found = intervals.resampled(intervals.confident, poor, y, folds=numbers, rng=np.random.default_rng(3))
        widths.append((found.matrix.high - found.matrix.low).mean())
    assert widths[0] > 1.5 * widths[1]


def test_intervals_of_a_matrix_that_was_learnt_hold_it_and_the_truth_though_it_is_off():
    T, rng = noise.symmetric(4, 0.3), np.random.default_rng(3)
    P, y, _ = judged(3000, T, rng)
    learnt = noise.symmetric(4, 0.45)  # far beyond what chance allows
    found = intervals.fit(P, y, rng=rng).around(learnt)
    assert found.basis == "rows"
    assert ((found.matrix.low <= learnt) & (learnt <= found.matrix.high)).all()
    assert ((found.matrix.low <= T) & (found.matrix.high >= T)).mean() > 0.85
    assert found.rates.low[0] <= 0.3 < 0.45 <= found.rates.high[0] + 1e-9


def test_ends_hold_the_estimate_to_the_last_bit():
    chosen, middle, spread = np.random.default_rng(0).random((3, 20_000))
    found = intervals._holding(chosen, middle, spread / 20)
    assert (found.low <= chosen).all()
    assert (found.high >= chosen).all()


def test_an_end_moved_out_to_the_estimate_leaves_the_other_end_nearer():
    T, rng = noise.symmetric(4, 0.3), np.random.default_rng(3)
    P, y, _ = judged(3000, T, rng)
    fitted = intervals.fit(P, y, rng=rng)
    own, far = fitted.around(fitted.T_c), fitted.around(noise.symmetric(4, 0.32))
    middle = (own.rates.low[0] + own.rates.high[0]) / 2
    assert far.rates.high[0] > own.rates.high[0]
    near = (middle - far.rates.low[0]) / (middle - own.rates.low[0])
    assert 1.645 / proportions.Z - 0.01 < near < 0.95  # all of the 5 % is left to that end


def test_a_matrix_that_nothing_else_is_known_of_has_at_least_the_width_of_its_rows():
    T = noise.symmetric(4, 0.4)
    y = np.arange(4000) % 4
    found = intervals.sampled(T, y, rng=np.random.default_rng(0))
    assert found.basis == "sampling"
    width = found.matrix.high[0, 0] - found.matrix.low[0, 0]
    assert width == pytest.approx(2 * proportions.Z * np.sqrt(0.24 / 1000), rel=0.2)


def test_the_same_generator_gives_the_same_interval_and_arguments_stay_as_they_are():
    P, y, _ = judged(300, noise.symmetric(3, 0.2), np.random.default_rng(4))
    before = P.copy(), y.copy()
    first, second = (
        intervals.resampled(intervals.confident, P, y, rng=np.random.default_rng(7)).plain() for _ in range(2)
    )
    assert first == second
    np.testing.assert_array_equal(P, before[0])
    np.testing.assert_array_equal(y, before[1])


def test_the_plain_form_names_both_ends_of_every_number():
    P, y, _ = judged(300, noise.symmetric(3, 0.2), np.random.default_rng(4))
    plain = intervals.resampled(intervals.confident, P, y, rng=np.random.default_rng(0)).plain()
    assert np.array(plain["matrix"]).shape == (3, 3, 2)
    for low, high in [*plain["similarity"].values(), *plain["noise_rate"].values()]:
        assert 0 <= low <= high <= 1


@pytest.mark.parametrize("rows", [3, 50, 77.3, 1000])
@pytest.mark.parametrize("share", [0.0, 1.0])
def test_an_interval_holds_its_own_share_to_the_last_bit(share, rows):
    low, high = proportions.wilson(share, rows)
    assert low <= share <= high


@pytest.mark.parametrize("rows", [90, 300])
def test_no_wrong_label_among_so_many_leaves_room_for_as_many_as_a_count_would(rows):
    y = np.arange(rows) % 3
    P = np.full((rows, 3), 0.0005)
    P[np.arange(rows), y] = 0.999
    found = intervals.resampled(intervals.confident, P, y, rng=np.random.default_rng(0))
    assert found.rates.low[0] == 0
    assert found.rates.high[0] == pytest.approx(proportions.wilson(0.0, rows)[1], rel=0.1)
    assert found.rates.high[1] > 0.5 * found.rates.high[0]
    assert found.similarity.low[1, 1] < 1 - found.rates.high[0]


def test_a_rate_of_less_than_half_a_row_may_be_none():
    T, rng = noise.symmetric(3, 0.004), np.random.default_rng(3)
    P, y, _ = judged(300, T, rng)
    assert intervals.resampled(intervals.confident, P, y, rng=rng).rates.low[0] == 0


def test_rates_of_an_estimator_that_finds_its_own_priors_lie_inside_their_intervals():
    T, y = noise.symmetric(3, 0.2), np.repeat([0, 1, 2], [800, 100, 100])
    priors = np.array([0.6, 0.3, 0.1])  # not what the counts of labels lead to
    skewed = noise.pair_flip(3, 0.3) @ T
    skewed[0] = [0.95, 0.05, 0.0]
    found = intervals.sampled(skewed, y, priors=priors, rng=np.random.default_rng(0))
    rates = np.array(transition.noise_rates(skewed, priors))
    T_s = transition.similarity_from_class(skewed, priors)
    assert ((found.rates.low < rates) & (rates < found.rates.high)).all()
    assert ((found.similarity.low < T_s) & (T_s < found.similarity.high)).all()


def test_rates_told_by_the_labels_of_all_rows_lie_inside_intervals_read_off_some():
    T, rng = noise.symmetric(3, 0.3), np.random.default_rng(2)
    T[0] = [0.98, 0.01, 0.01]
    P, y, _ = judged(900, T, rng)
    counts = np.array([9000, 500, 500])
    found = intervals.resampled(intervals.confident, P, y, counts=counts, rng=rng)
    T_hat = intervals.confident(P, y)
    rates = np.array(transition.noise_rates(T_hat, transition.clean_priors(T_hat, counts)))
    assert ((found.rates.low <= rates) & (rates <= found.rates.high)).all()


@pytest.mark.parametrize("sure", [0.98, 1.0])
def test_rates_lie_inside_intervals_of_rows_that_were_not_drawn_by_class(sure):
    T, counts = np.array([[sure, 1 - sure], [0.3, 0.7]]), np.array([4700, 300])
    for seed in range(20):
        rng = np.random.default_rng(seed)
        clean = np.repeat([0, 1], 100)  # as many of either class as somebody looked at
        y = (rng.random(200) > T[clean, 0]).astype(np.int64)
        T_hat = estimation.from_gold(clean, y, 2).T
        found = intervals.sampled(T_hat, y, counts=counts, rng=rng)
        priors = transition.clean_priors(T_hat, counts)
        rates, T_s = (
            np.array(transition.noise_rates(T_hat, priors)),
            transition.similarity_from_class(T_hat, priors),
        )
        assert ((found.rates.low <= rates) & (rates <= found.rates.high)).all()
        assert ((found.similarity.low <= T_s) & (T_s <= found.similarity.high)).all()
        own = intervals.sampled(T_hat, y, rng=np.random.default_rng(seed))
        width = found.matrix.high - found.matrix.low
        np.testing.assert_allclose(width, own.matrix.high - own.matrix.low, rtol=0.3)  # by its own rows
