"""The refined matrix: errors of stage 1 are not taken for wrong labels, and its spread is that of other rows."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from c2s.matrix import estimation, noise, refinement


def overlapping(T, rng, *, rows=3000, distance=1.0):
    """Out-of-sample posteriors of clouds that overlap, their noisy labels and clean classes."""
    classes = len(T)
    centres = rng.normal(size=(classes, 6)) * distance
    clean = rng.integers(classes, size=rows)
    x, y = centres[clean] + rng.normal(size=(rows, 6)), noise.corrupt(clean, T, rng=rng)
    half = np.arange(rows) % 2 == 0
    P = np.zeros((rows, classes))
    for seen in (half, ~half):
        P[~seen] = LogisticRegression().fit(x[seen], y[seen]).predict_proba(x[~seen])
    return P, y, clean


@pytest.mark.parametrize("T", [noise.symmetric(4, 0.3), noise.pair_flip(4, 0.3)], ids=["symmetric", "pairs"])
def test_where_classes_overlap_it_is_far_nearer_to_the_truth_than_counting(T):
    P, y, _ = overlapping(T, np.random.default_rng(3))
    counted = estimation.error(estimation.confident_joint(P, y).T, T)
    assert estimation.error(refinement.refine(P, y).T, T) < counted / 2


def test_rows_are_distributions_and_arguments_stay_as_they_are():
    P, y, _ = overlapping(noise.symmetric(3, 0.2), np.random.default_rng(1), rows=600)
    before = P.copy(), y.copy()
    found = refinement.refine(P, y)
    np.testing.assert_allclose(found.T.sum(axis=1), 1)
    np.testing.assert_allclose(found.clean.sum(axis=1), 1)
    np.testing.assert_array_equal(P, before[0])
    np.testing.assert_array_equal(y, before[1])


def test_the_gradient_is_that_of_the_objective():
    rng = np.random.default_rng(0)
    X, y = np.column_stack([rng.normal(size=(40, 3)), np.ones(40)]), rng.integers(3, size=40)
    theta, step = rng.normal(size=3 * 4 + 9), 1e-6
    _, slope = refinement._objective(theta, X, y, 3)
    for place in range(len(theta)):
        off = np.zeros_like(theta)
        off[place] = step
        ahead, behind = (refinement._objective(theta + side * off, X, y, 3)[0] for side in (1, -1))
        assert slope[place] == pytest.approx((ahead - behind) / (2 * step), abs=1e-6)


def test_one_newton_step_spreads_as_fitting_other_draws_of_the_rows_does():
    P, y, _ = overlapping(noise.symmetric(3, 0.3), np.random.default_rng(2), rows=2500, distance=1.5)
    rng = np.random.default_rng(5)
    stepped = refinement.redrawn(refinement.refine(P, y), 100, rng=rng).std(axis=0)
    draws = (rng.integers(len(y), size=len(y)) for _ in range(30))
    fitted = np.std([refinement.refine(P[rows], y[rows]).T for rows in draws], axis=0)
    assert 0.6 < stepped.mean() / fitted.mean() < 1.6


def test_of_very_many_rows_every_nth_is_looked_at(monkeypatch):
    P, y, _ = overlapping(noise.symmetric(3, 0.2), np.random.default_rng(1), rows=600)
    monkeypatch.setattr(refinement, "ROWS", 900)
    assert len(refinement.refine(P, y).y) == 300


def test_a_class_without_labels_is_flagged():
    P, y, _ = overlapping(noise.symmetric(3, 0.2), np.random.default_rng(1), rows=600)
    wider = np.column_stack([P, np.zeros(len(P))])
    found = refinement.refine(wider, y)
    assert found.flagged == (3,)
    assert np.isfinite(found.T).all()


def test_labels_that_say_nothing_do_not_lead_the_fit_into_a_pole():
    """T - BOUNDED I of two classes that are swapped is singular: log |det| of that was bounded by nothing."""
    rng, theta = np.random.default_rng(0), np.zeros(2 * 3 + 4)
    X, y = np.column_stack([rng.normal(size=(40, 2)), np.ones(40)]), rng.integers(2, size=40)
    values = []
    for swap in np.linspace(-0.2, 0.2, 401):  # T's second singular value, with its sign
        stay = (1 + swap) / 2
        theta[6:] = np.log([stay, 1 - stay, 1 - stay, stay])
        values.append(refinement._objective(theta, X, y, 2)[0])
    assert np.ptp(values) < 0.2
    np.testing.assert_allclose(
        values, values[::-1], atol=1e-9
    )  # which class is which is not the volume's affair


def test_the_step_holds_back_what_the_objective_holds_back_and_nothing_else():
    c, d = 3, 4
    rng = np.random.default_rng(0)
    bent, step = refinement._penalties(c, d), 1e-4
    theta = rng.normal(size=d * c + c * c)

    def shrinkage(at):
        W, A = at[: d * c].reshape(d, c)[:-1], at[d * c :]
        uneven = W - np.eye(c) * np.trace(W) / c
        return refinement.SHRINKAGE * np.square(uneven).sum() + refinement.FLOOR * np.square(A).sum()

    for way in rng.normal(size=(20, len(theta))):
        way[c * c : d * c] = 0  # of the constant there is a floor alone
        ahead, here, behind = (shrinkage(theta + side * step * way) for side in (1, 0, -1))
        curve = (ahead - 2 * here + behind) / (2 * step**2)
        assert way @ bent @ way == pytest.approx(curve, rel=1e-2)
    sure = np.concatenate([np.eye(c).ravel(), np.zeros(c + c * c)])
    assert sure @ bent @ sure < 0.01  # free: where classes overlap it trades against noise


@pytest.mark.parametrize("T", [noise.symmetric(4, 0.3), noise.pair_flip(4, 0.3)], ids=["symmetric", "pairs"])
def test_labels_refute_what_takes_errors_of_stage_1_for_noise_and_not_the_truth(T):
    P, y, _ = overlapping(T, np.random.default_rng(3))
    found = refinement.refine(P, y)
    assert refinement.refutes(found, estimation.confident_joint(P, y).T)
    assert not refinement.refutes(found, T)
    assert not refinement.refutes(found, found.T)


def test_labels_refute_no_count_that_is_right():
    P, y, _ = overlapping(noise.symmetric(3, 0.3), np.random.default_rng(4), rows=900, distance=4.0)
    counted = estimation.confident_joint(P, y).T
    before = counted.copy()
    assert not refinement.refutes(refinement.refine(P, y), counted)
    np.testing.assert_array_equal(counted, before)
