import json
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from c2s import errors
from c2s.matrix import estimation, noise, transition

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "transition_estimators.json").read_text())
P_GOLDEN = np.array(GOLDEN["posterior"])
Y_GOLDEN = np.array(GOLDEN["noisy_labels"])

ESTIMATORS = {
    "anchors": lambda P, y: estimation.anchors(P),
    "anchors-plain": lambda P, y: estimation.anchors(P, adapt=False),
    "anchors-max": lambda P, y: estimation.anchors(P, None),
    "mean-posterior": lambda P, y: estimation.mean_posterior(P),
    "dual-t": lambda P, y: estimation.dual_t(P, y),
    "confident-joint": lambda P, y: estimation.confident_joint(P, y),
    "counts": lambda P, y: estimation.counts(P, y),
}
each = pytest.mark.parametrize("estimate", ESTIMATORS.values(), ids=ESTIMATORS.keys())


def simulate(T_c, pi, n, *, distance=4.0, seed=0):
    """Exact noisy posteriors of Gaussian classes, the noisy labels, and the clean labels behind them."""
    rng = np.random.default_rng(seed)
    y = rng.choice(len(pi), size=n, p=pi)
    x = distance * np.eye(len(pi))[y] + rng.normal(size=(n, len(pi)))  # (n, c)
    scores = distance * x + np.log(pi)
    clean = np.exp(scores - scores.max(1, keepdims=True))
    P = clean / clean.sum(1, keepdims=True) @ T_c
    return P, noise.corrupt(y, T_c, rng=rng), y


@pytest.mark.parametrize("percentile", [None, 100, 97, 90])
def test_plain_anchors_are_the_golden_copies(percentile):
    golden = GOLDEN[f"clean_copy_percentile_{percentile}"]
    found = estimation.anchors(P_GOLDEN, percentile, adapt=False)
    np.testing.assert_allclose(found.T, golden["T"], atol=1e-12)
    np.testing.assert_allclose(found.T, P_GOLDEN[golden["anchor_index"]], atol=1e-12)
    assert found.flagged == ()


def test_dual_t_is_the_golden_product():
    found = estimation.dual_t(P_GOLDEN, Y_GOLDEN, 97, adapt=False)
    np.testing.assert_allclose(found.T, GOLDEN["dual_T_from_97"], atol=1e-11)
    second = estimation.counts(P_GOLDEN, Y_GOLDEN)
    np.testing.assert_allclose(second.T, GOLDEN["dual_T_second_factor"], atol=1e-12)


@pytest.mark.parametrize(
    ("name", "tolerance"),
    [("anchors", 0.003), ("mean-posterior", 0.003), ("counts", 0.006), ("confident-joint", 0.006)],
)
@pytest.mark.parametrize(
    "T_c", [noise.symmetric(5, 0.4), noise.random_dominant_at(5, 0.4), noise.pair_flip(5, 0.35)]
)
def test_a_known_matrix_is_recovered_from_calibrated_posteriors(name, tolerance, T_c):
    P, y, _ = simulate(T_c, np.array([0.3, 0.25, 0.2, 0.15, 0.1]), 30_000)
    found = ESTIMATORS[name](P, y)
    assert estimation.error(found.T, T_c) < tolerance
    assert found.flagged == ()


def test_dual_t_counts_the_noise_of_a_calibrated_posterior_twice():
    T_c = noise.symmetric(5, 0.4)
    P, y, _ = simulate(T_c, np.full(5, 0.2), 30_000)
    found = estimation.dual_t(P, y)
    assert estimation.error(found.T, T_c @ T_c) < 0.006
    assert estimation.error(found.T, T_c) > 0.06


@pytest.mark.parametrize(
    "pi",
    [np.full(20, 0.05), np.r_[np.full(4, 0.235), np.full(3, 0.02)]],
    ids=["many classes", "rare classes"],
)
def test_a_percentile_of_90_goes_wrong_on_small_classes_unless_adapted(pi):
    T_c = noise.symmetric(len(pi), 0.2)
    P, _, _ = simulate(T_c, pi, 12_000)
    adapted = estimation.anchors(P, 90)
    assert np.abs(adapted.T - T_c).max() < 0.02
    assert adapted.flagged == ()
    plain = np.diag(estimation.anchors(P, 90, adapt=False).T)
    assert (plain[pi < 0.1] < 0.3).all()  # the anchors of small classes belong to other classes


def test_the_cut_over_all_points_holds_where_classes_are_large():
    P, _, _ = simulate(noise.symmetric(4, 0.3), np.full(4, 0.25), 2000)
    adapted, plain = (estimation.anchors(P, 97, adapt=adapt) for adapt in (True, False))
    np.testing.assert_array_equal(adapted.T, plain.T)


def test_the_only_point_of_a_class_is_its_anchor():
    P = np.array([[0.8, 0.1, 0.1], [0.7, 0.2, 0.1], [0.2, 0.7, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4]])
    np.testing.assert_allclose(estimation.anchors(P, 100).T, [P[1], P[2], P[4]])
    np.testing.assert_allclose(estimation.anchors(P, None).T, [P[0], P[3], P[4]])


def test_the_anchor_of_a_small_class_is_its_median_point():
    sure = np.array([0.99, 0.6, 0.7, 0.8, 0.9])  # class 0: 5 of 100 points
    P = np.r_[np.c_[sure, 1 - sure], np.tile([0.1, 0.9], (95, 1))]
    np.testing.assert_allclose(estimation.anchors(P, 97).T[0], [0.8, 0.2])
    np.testing.assert_allclose(estimation.anchors(P, 90).T[0], [0.8, 0.2])
    np.testing.assert_allclose(estimation.anchors(P[[0, 1, 2, 3, *range(5, 99)]], 97).T[0], [0.7, 0.3])


def test_posteriors_that_are_all_alike_still_have_an_anchor():
    P = np.tile([0.5, 0.3, 0.2], (10, 1))
    for adapt in (True, False):
        found = estimation.anchors(P, adapt=adapt)
        np.testing.assert_allclose(found.T, [[0.5, 0.3, 0.2], [0, 1, 0], [0, 0, 1]])
        assert found.flagged == (1, 2)


def test_the_mean_posterior_is_the_mean_over_the_points_predicted():
    expected = [P_GOLDEN[P_GOLDEN.argmax(1) == i].mean(0) for i in range(4)]
    np.testing.assert_allclose(estimation.mean_posterior(P_GOLDEN).T, expected, atol=1e-12)


def brute_force_joint(P, y):
    """The confident joint row by row: counts calibrated to the noisy labels, and the rows off the diagonal."""
    c = P.shape[1]
    thresholds = [P[y == j, j].mean() if (y == j).any() else 2.0 for j in range(c)]
    counted, suspects = np.zeros((c, c)), np.zeros(len(y), dtype=bool)
    for row, (p, label) in enumerate(zip(P, y, strict=True)):
        reached = [j for j in range(c) if p[j] >= thresholds[j]]
        if reached:
            likely = max(reached, key=lambda j: p[j])
            counted[likely, label] += 1
            suspects[row] = likely != label
    for j in range(c):
        counted[:, j] *= (y == j).sum() / max(1, counted[:, j].sum())
    return counted / len(y), suspects


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.integers(2, 6), st.integers(8, 60), st.integers(0, 2**16))
def test_the_confident_joint_equals_a_loop_over_rows(c, n, seed):
    rng = np.random.default_rng(seed)
    P, y = rng.dirichlet(np.full(c, 0.5), size=n), rng.integers(c, size=n)
    found = estimation.confident_joint(P, y)
    joint, suspects = brute_force_joint(P, y)
    np.testing.assert_allclose(found.joint, joint, atol=1e-12)
    np.testing.assert_array_equal(found.suspects, suspects)
    np.testing.assert_allclose(found.joint.sum(0), np.bincount(y, minlength=c) / n, atol=1e-12)
    assert found.flagged == tuple(np.flatnonzero(np.diag(joint) == 0))
    assert (found.likely[suspects] != y[suspects]).all()


def test_suspects_are_the_wrong_labels_and_likely_their_right_ones():
    pi = np.array([0.4, 0.3, 0.2, 0.1])
    P, noisy, clean = simulate(noise.symmetric(4, 0.3), pi, 10_000, distance=6.0)
    found = estimation.confident_joint(P, noisy)
    assert (found.suspects == (noisy != clean)).mean() > 0.99
    assert (found.likely == clean).mean() > 0.99
    np.testing.assert_allclose(found.joint.sum(1), pi, atol=0.02)


def test_equal_self_confidence_reaches_its_own_mean():
    P = np.tile(np.full(10, 0.1), (7, 1)) + 0.0
    found = estimation.confident_joint(P, np.array([0, 1, 2, 3, 3, 3, 3]))
    assert found.joint.sum() == pytest.approx(1)


@each
def test_classes_without_evidence_keep_the_row_of_the_identity(estimate):
    P, y, _ = simulate(noise.symmetric(3, 0.2), np.full(3, 1 / 3), 600)
    P = np.insert(P, 1, 0.0, axis=1)  # class 1 is never predicted and never given
    y = y + (y >= 1)
    found = estimate(P, y)
    assert found.flagged == (1,)
    np.testing.assert_array_equal(found.T[1], np.eye(4)[1])
    transition.check(found.T)


@each
def test_estimates_are_transitions_whatever_the_posteriors(estimate):
    rng = np.random.default_rng(9)
    for n, c, alpha in [(1, 2, 1.0), (3, 8, 0.1), (50, 3, 0.02), (200, 40, 1.0)]:
        P, y = rng.dirichlet(np.full(c, alpha), size=n), rng.integers(c, size=n)
        assert transition.check(estimate(P, y).T).shape == (c, c)
        for dtype in (np.uint8, np.uint64):
            found = estimate(P.astype(np.float32), y.astype(dtype))
            assert transition.check(found.T).dtype == np.float64


@each
def test_estimators_do_not_change_or_keep_their_arguments(estimate):
    P, y = P_GOLDEN.copy(), Y_GOLDEN.copy()
    P.flags.writeable = y.flags.writeable = False
    found = estimate(P, y)
    assert not np.shares_memory(found.T, P)
    np.testing.assert_array_equal(P, GOLDEN["posterior"])
    np.testing.assert_array_equal(y, GOLDEN["noisy_labels"])


def test_memory_stays_below_a_copy_of_the_posteriors(monkeypatch):
    P = np.random.default_rng(0).dirichlet(np.ones(300), size=4000)
    y = np.arange(4000) % 300
    whole = estimation.confident_joint(P, y), estimation.ambiguity(P)
    monkeypatch.setattr(estimation, "BLOCK", 2**16)
    tracemalloc.start()
    blocked = estimation.confident_joint(P, y), estimation.ambiguity(P)
    estimation.anchors(P)
    estimation.mean_posterior(P)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < P.nbytes
    np.testing.assert_array_equal(blocked[0].T, whole[0].T)
    np.testing.assert_array_equal(blocked[0].likely, whole[0].likely)
    assert blocked[1] == whole[1]


def test_ambiguity_is_the_share_of_points_between_two_classes():
    P = np.array([[0.6, 0.3, 0.1], [0.6, 0.31, 0.09], [0.9, 0.05, 0.05], [0.2, 0.41, 0.39]])
    assert estimation.ambiguity(P) == 0.5
    sure, _, _ = simulate(noise.symmetric(5, 0.4), np.full(5, 0.2), 4000)
    torn, _, _ = simulate(noise.pair_flip(5, 0.45), np.full(5, 0.2), 4000)
    assert estimation.ambiguity(sure) < 0.1
    assert estimation.ambiguity(torn) > 0.9


def test_estimates_are_compared_by_the_distance_of_their_rows():
    estimates = {"a": np.eye(4), "b": noise.symmetric(4, 0.3), "c": noise.pair_flip(4, 0.5)}
    assert estimation.compare(estimates, "a") == pytest.approx({"a": 0.0, "b": 0.6, "c": 1.0})
    assert estimation.error(estimates["b"], estimates["a"]) == pytest.approx(0.15)
    with pytest.raises(errors.InvalidConfig, match="d is none of the estimates a, b, c"):
        estimation.compare(estimates, "d")


@pytest.mark.parametrize(
    "P",
    [np.ones(3), np.empty((0, 3)), np.ones((4, 1)), np.full((2, 2), np.nan), np.array([[1.5, -0.5]])],
)
def test_what_is_no_posterior_is_refused(P):
    for estimate in (estimation.anchors, estimation.mean_posterior, estimation.ambiguity):
        with pytest.raises(errors.InvalidDataset, match="posteriors must be"):
            estimate(P)


@pytest.mark.parametrize("y", [np.zeros(59, dtype=int), np.full(60, 4), np.full(60, -1), np.zeros(60)])
def test_labels_that_do_not_fit_are_refused(y):
    for estimate in (estimation.counts, estimation.confident_joint, estimation.dual_t):
        with pytest.raises(errors.InvalidDataset, match="labels"):
            estimate(P_GOLDEN, y)


@pytest.mark.parametrize("percentile", [-1, 101, float("nan")])
def test_a_percentile_outside_0_to_100_is_refused(percentile):
    with pytest.raises(errors.InvalidConfig, match="percentile"):
        estimation.anchors(P_GOLDEN, percentile)


def test_the_noise_algebra_loads_without_torch():
    program = "import sys; from c2s.matrix import estimation, noise, transition; "
    program += "sys.exit('torch' in sys.modules)"
    root = Path(__file__).parents[3]
    assert subprocess.run([sys.executable, "-c", program], cwd=root, check=False).returncode == 0


def test_gold_rows_give_the_shares_of_labels_and_flag_a_class_without_any():
    gold, y = np.array([0, 0, 0, 0, 1, 1, -1]), np.array([0, 0, 0, 1, 0, 0, 2])
    found = estimation.from_gold(gold, y, 3)
    np.testing.assert_allclose(found.T, [[0.75, 0.25, 0], [1, 0, 0], [0, 0, 1]])
    assert found.flagged == (2,)
