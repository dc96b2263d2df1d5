import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from c2s import errors
from c2s.matrix import noise, transition

CASES = json.loads((Path(__file__).parents[2] / "golden" / "ts_from_tc.json").read_text())["cases"]
BLOCKS = np.kron(np.eye(2), np.full((2, 2), 0.5))  # two blocks of two classes: figure 1, singular
HALF_LOST = np.array([[0.5, 0.5], [0.0, 1.0]])
properties = settings(max_examples=150, deadline=None, derandomize=True)


def normalised(weights):
    """Rows as distributions; a row of zeros becomes the identity's."""
    weights = np.where(weights.sum(1, keepdims=True) > 0, weights, np.eye(len(weights)))
    return weights / weights.sum(1, keepdims=True)


@st.composite
def stochastic(draw, least=2, most=9):
    c = draw(st.integers(least, most))
    return normalised(draw(hnp.arrays(np.float64, (c, c), elements=st.integers(0, 20))))


@st.composite
def with_priors(draw, least=2, most=5):
    T_c = draw(stochastic(least, most))
    weights = draw(hnp.arrays(np.float64, len(T_c), elements=st.integers(1, 50)))
    return T_c, weights / weights.sum()


def enumerated(T_c, pi):
    """P(clean similarity = h, noisy similarity = k), by going through all pairs of classes: (2, 2)."""
    joint = np.zeros((2, 2))
    for i, j, m, n in itertools.product(range(len(pi)), repeat=4):
        joint[int(i == j), int(m == n)] += pi[i] * pi[j] * T_c[i, m] * T_c[j, n]
    return joint


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_golden_cases(case):
    T_c = np.array(case["T_c"])
    T_s = transition.similarity_from_class(T_c, case["prior"])
    golden = [[case["T_s00"], case["T_s01"]], [case["T_s10"], case["T_s11"]]]
    np.testing.assert_allclose(T_s, golden, atol=1e-10)
    rates = transition.noise_rates(T_c, case["prior"])
    assert rates.class_ == pytest.approx(case["class_noise"], abs=1e-10)
    assert rates.similarity == pytest.approx(case["similarity_noise"], abs=1e-10)
    assert T_s[1, 1] == pytest.approx(case["monte_carlo"]["T11"], abs=3e-3)
    assert T_s[0, 1] == pytest.approx(case["monte_carlo"]["T01"], abs=3e-3)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(with_priors())
def test_the_closed_forms_equal_the_quadruple_loop(T_and_pi):
    T_c, pi = T_and_pi
    joint = enumerated(T_c, pi)
    expected = joint / joint.sum(1, keepdims=True)
    np.testing.assert_allclose(transition.similarity_from_class(T_c, pi), expected, atol=1e-12)
    rates = transition.noise_rates(T_c, pi)
    assert rates.similarity == pytest.approx(joint[0, 1] + joint[1, 0], abs=1e-12)
    assert rates.class_ == pytest.approx(1 - (pi * np.diag(T_c)).sum(), abs=1e-12)


def test_drawn_pairs_agree_with_the_closed_forms():
    rng = np.random.default_rng(11)
    T_c, pi = noise.random_dominant(5, k=0.4), np.array([0.4, 0.3, 0.15, 0.1, 0.05])
    y = rng.choice(5, size=(2, 300_000), p=pi)
    noisy = noise.corrupt(y.ravel(), T_c, rng=rng).reshape(y.shape)
    clean_similar, noisy_similar = y[0] == y[1], noisy[0] == noisy[1]
    T_s = transition.similarity_from_class(T_c, pi)
    assert noisy_similar[clean_similar].mean() == pytest.approx(T_s[1, 1], abs=0.008)
    assert noisy_similar[~clean_similar].mean() == pytest.approx(T_s[0, 1], abs=0.005)
    rates = transition.noise_rates(T_c, pi)
    assert (clean_similar != noisy_similar).mean() == pytest.approx(rates.similarity, abs=0.005)
    assert (y != noisy).mean() == pytest.approx(rates.class_, abs=0.005)


@properties
@given(with_priors(most=9))
def test_similarity_rows_are_distributions_and_agree_with_the_noise_rate(T_and_pi):
    T_c, pi = T_and_pi
    T_s = transition.check(transition.similarity_from_class(T_c, pi))
    nu = (pi**2).sum()
    expected = nu * T_s[1, 0] + (1 - nu) * T_s[0, 1]
    assert transition.noise_rates(T_c, pi).similarity == pytest.approx(expected, abs=1e-12)


@properties
@given(stochastic(least=4, most=12))
def test_theorem_2_holds_from_four_classes_on(T_c):
    c, eps = len(T_c), 1 - np.diag(T_c)
    rates = transition.noise_rates(T_c)
    assert rates.similarity <= rates.class_ + 1e-12
    assert c**2 * (rates.similarity - rates.class_) <= (c - 4) * (eps * (eps - 1)).sum() + 1e-9


def test_two_and_three_classes_can_get_noisier():
    assert transition.noise_rates(HALF_LOST) == pytest.approx((0.25, 0.375))  # + 0.125
    to_the_third = np.array([[0.5, 0, 0.5], [0, 0.5, 0.5], [0, 0, 1]])
    assert transition.noise_rates(to_the_third) == pytest.approx((1 / 3, 7 / 18))  # + 0.0556
    assert not transition.learnability(HALF_LOST).reduces_noise
    assert not transition.learnability(to_the_third).reduces_noise


@properties
@given(stochastic(most=3))
def test_two_and_three_classes_get_no_noisier_than_the_counter_examples(T_c):
    rates = transition.noise_rates(T_c)
    assert rates.similarity - rates.class_ <= {2: 1 / 8, 3: 1 / 18}[len(T_c)] + 1e-12


def test_three_classes_can_also_get_cleaner():
    assert transition.noise_rates(noise.pair_flip(3, 0.45)) == pytest.approx((0.45, 0.33))


def test_skewed_priors_break_theorem_2_at_ten_classes():
    T_c = np.eye(10)
    T_c[:2, :2] = HALF_LOST
    pi = np.r_[0.49, 0.49, np.full(8, 0.02 / 8)]
    rates = transition.noise_rates(T_c, pi)
    assert rates.class_ == pytest.approx(0.245)
    assert rates.similarity == pytest.approx(0.360, abs=5e-4)
    assert transition.noise_rates(T_c).similarity < transition.noise_rates(T_c).class_


def test_an_invertible_dominant_matrix_can_be_unlearnable_under_skewed_priors():
    case = next(case for case in CASES if case["name"] == "c10_unbalanced_T11_below_T01")
    found = transition.learnability(np.array(case["T_c"]), case["prior"])
    assert found.t00_plus_t11 == pytest.approx(1 + 0.1456733333 - 0.1594256410, abs=1e-9)
    assert found.diagonally_dominant
    assert found.rank == 10
    assert found.condition_number == pytest.approx(21.6, abs=0.05)
    assert any("hide the classes" in warning for warning in found.warnings)
    assert transition.learnability(np.array(case["T_c"])).t00_plus_t11 > 1


@pytest.mark.parametrize("T_c", [BLOCKS, noise.pair_flip(4, 0.5)], ids=["blocks", "cycle"])
def test_figure_1_halves_the_noise_of_a_singular_matrix(T_c):
    np.testing.assert_allclose(
        transition.similarity_from_class(T_c), [[5 / 6, 1 / 6], [0.5, 0.5]], atol=1e-15
    )
    assert transition.noise_rates(T_c) == pytest.approx((0.5, 0.25))
    found = transition.learnability(T_c)
    assert found.rank < 4
    assert found.condition_number == float("inf")
    assert found.least_singular_value == pytest.approx(0, abs=1e-15)
    assert found.t00_plus_t11 == pytest.approx(4 / 3)
    assert found.reduces_noise
    assert any("singular" in warning for warning in found.warnings)


@properties
@given(with_priors(), st.floats(0, 1))
def test_symmetric_noise_has_one_T_s_whatever_the_priors(T_and_pi, rate):
    _, pi = T_and_pi
    T_c = noise.symmetric(len(pi), rate)
    balanced = transition.similarity_from_class(T_c)
    np.testing.assert_allclose(transition.similarity_from_class(T_c, pi), balanced, atol=1e-12)
    assert transition.averaging_error(T_c, pi) < 1e-12


@properties
@given(with_priors())
def test_no_class_noise_is_no_similarity_noise(T_and_pi):
    _, pi = T_and_pi
    clean = np.eye(len(pi))
    np.testing.assert_allclose(transition.similarity_from_class(clean, pi), np.eye(2), atol=1e-15)
    assert transition.noise_rates(clean, pi) == pytest.approx((0, 0), abs=1e-15)


@properties
@given(stochastic())
def test_balanced_pairs_are_learnable_exactly_if_rows_differ(T_c):
    c = len(T_c)
    between = sum(((T_c[i] - T_c[j]) ** 2).sum() for i, j in itertools.combinations(range(c), 2))
    excess = transition.learnability(T_c).t00_plus_t11 - 1
    assert excess == pytest.approx(between / (c * (c - 1)), abs=1e-12)
    assert (excess > 1e-9) == (np.abs(T_c - T_c[0]).max() > 1e-9)
    one_row = transition.learnability(np.tile(T_c[0], (c, 1)))
    assert one_row.t00_plus_t11 == pytest.approx(1, abs=1e-12)
    assert one_row.rank == 1


@properties
@given(with_priors(most=8))
def test_clean_priors_come_back_from_noisy_ones(T_and_pi):
    T_c, pi = T_and_pi
    dominant = 0.5 * np.eye(len(pi)) + 0.5 * T_c
    if np.linalg.cond(dominant) < 1e6:
        np.testing.assert_allclose(transition.clean_priors(dominant, pi @ dominant), pi, atol=1e-8)


@properties
@given(stochastic(), st.integers(0, 2**16))
def test_clean_priors_are_a_distribution_whatever_the_matrix(T_c, seed):
    noisy = np.random.default_rng(seed).dirichlet(np.full(len(T_c), 0.3))
    for T in (T_c, np.tile(T_c[0], (len(T_c), 1))):
        pi = transition.clean_priors(T, noisy)
        assert (pi >= 0).all()
        assert pi.sum() == pytest.approx(1)


def test_labels_that_the_matrix_never_yields_keep_the_noisy_priors():
    np.testing.assert_allclose(transition.clean_priors(np.array([[1.0, 0], [1, 0]]), [0, 1]), [0, 1])


def test_the_paper_approximation_misses_uneven_confusion_only():
    assert transition.averaging_error(noise.symmetric(10, 0.6)) < 1e-15
    assert transition.averaging_error(noise.pair_flip(10, 0.45)) == pytest.approx(0.2475 - 0.055)
    T_c = noise.cifar10_semantic(0.4)
    exact = transition.exact_form(T_c)
    assert exact[3, 5] == pytest.approx(0.48)
    averaged = transition.averaged_form(transition.similarity_from_class(T_c), 10)
    assert np.diag(averaged) == pytest.approx(np.diag(exact).mean())
    assert averaged[0, 1] == pytest.approx((exact.sum() - np.trace(exact)) / 90)


def test_distinct_pairs_agree_with_an_enumeration_of_rows():
    T_c, counts = noise.random_dominant(3, k=0.3), [4, 2, 1]
    y = np.repeat(np.arange(3), counts)
    agree = transition.exact_form(T_c)
    similar = [agree[y[a], y[b]] for a, b in itertools.permutations(range(7), 2) if y[a] == y[b]]
    different = [agree[y[a], y[b]] for a, b in itertools.permutations(range(7), 2) if y[a] != y[b]]
    T_s = transition.distinct_pairs(T_c, counts)
    assert T_s[1, 1] == pytest.approx(np.mean(similar))
    assert T_s[0, 1] == pytest.approx(np.mean(different))
    balanced = transition.distinct_pairs(T_c, [9, 9, 9])
    np.testing.assert_allclose(balanced, transition.similarity_from_class(T_c), atol=1e-14)


def test_pairs_that_cannot_exist_have_the_row_of_the_identity():
    T_c = noise.symmetric(3, 0.3)
    assert transition.similarity_from_class(T_c, [0, 1, 0])[0].tolist() == [1, 0]
    assert transition.distinct_pairs(T_c, [1, 1, 0])[1].tolist() == [0, 1]


def test_similar_pairs_of_a_batch_are_those_of_its_expectation():
    assert transition.similar_pairs(100, np.full(100, 0.01)) == pytest.approx(49.5)
    assert transition.similar_pairs(2, [0.5, 0.3, 0.2]) == pytest.approx(0.38)
    draws = np.random.default_rng(0).choice(3, size=(20_000, 6), p=[0.5, 0.3, 0.2])
    realised = ((draws[:, :, None] == draws[:, None, :]).sum((1, 2)) - 6) / 2
    assert realised.mean() == pytest.approx(transition.similar_pairs(6, [0.5, 0.3, 0.2]), abs=0.1)


def test_learnability_warns_of_what_it_sees():
    clean = transition.learnability(np.eye(5))
    assert clean.warnings == ()
    assert not clean.reduces_noise
    assert "fewer than 4" in transition.learnability(np.eye(3)).warnings[0]
    binary = " ".join(transition.learnability(noise.symmetric(2, 0.3)).warnings)
    assert "0.420 of them are wrong, against 0.300" in binary
    assert "say little" in " ".join(transition.learnability(noise.symmetric(10, 0.7)).warnings)
    hidden = " ".join(transition.learnability(noise.symmetric(10, 0.88)).warnings)
    assert "hide the classes" in hidden
    assert "say little" not in hidden
    assert "ill-conditioned" in " ".join(transition.learnability(noise.pair_flip(10, 0.499)).warnings)


def test_learnability_names_the_rows_that_are_not_dominant():
    T_c = np.eye(6)
    T_c[2] = [0.4, 0.0, 0.4, 0.2, 0.0, 0.0]
    T_c[5] = [0.6, 0.0, 0.0, 0.0, 0.0, 0.4]
    found = transition.learnability(T_c)
    assert not found.diagonally_dominant
    assert "Classes 2, 5 (from 0) do not keep" in found.warnings[-1]
    assert "Classes c, f do not keep their" in transition.learnability(T_c, None, list("abcdef")).warnings[-1]
    T_c[5] = np.eye(6)[5]
    assert "Class c does not keep its own" in transition.learnability(T_c, None, list("abcdef")).warnings[-1]
    many = transition.learnability(noise.pair_flip(40, 0.6)).warnings
    assert any("Classes 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 30 more" in warning for warning in many)


def test_perturbing_moves_T_c_much_and_T_s_little():
    T_c = noise.symmetric(10, 0.6)
    moved = [transition.perturb(T_c, 0.5, rng=np.random.default_rng(seed)) for seed in range(50)]
    truth = transition.similarity_from_class(T_c)
    shifts = [np.abs(transition.similarity_from_class(T) - truth) for T in moved]
    assert np.mean([np.abs(T - T_c).sum(1).mean() for T in moved]) == pytest.approx(0.46, abs=0.03)
    assert np.mean([shift[1, 1] for shift in shifts]) == pytest.approx(0.027, abs=0.01)
    assert np.mean([shift[0, 1] for shift in shifts]) < 0.005


@pytest.mark.parametrize("eta", [0.0, 0.5, 1.0, 3.0])
def test_a_perturbed_matrix_is_still_a_transition(eta):
    T_c = noise.pair_flip(6, 0.2)
    T_c.flags.writeable = False
    for seed in range(20):
        transition.check(transition.perturb(T_c, eta, rng=np.random.default_rng(seed)))


@pytest.mark.parametrize("eta", [-0.1, float("nan"), float("inf")])
def test_a_perturbation_that_is_no_size_is_refused(eta):
    with pytest.raises(errors.InvalidConfig, match="at least 0"):
        transition.perturb(np.eye(2), eta, rng=np.random.default_rng(0))


def test_check_gives_a_copy():
    T_c = noise.symmetric(3, 0.2)
    copy = transition.check(T_c)
    copy[0, 0] = 0
    assert T_c[0, 0] == 0.8
    assert transition.check([[1, 0], [0, 1]]).dtype == np.float64
    transition.check(noise.symmetric(7, 0.3).round(7))


@pytest.mark.parametrize(
    ("T", "reason"),
    [
        ([[1, 0], [0.5, 0.4]], "row 1 .* sums to 0.9 instead"),
        ([[1, 0, 0], [0, 1.5, -0.5], [0, 0, 2]], r"row 1 .* outside \[0, 1\]"),
        ([[1, 0], [float("nan"), 1]], "row 1 .* not finite"),
        ([[float("inf"), -float("inf")], [0, 1]], "row 0 .* not finite"),
        ([[0.5, 0.5]], r"square.*\(1, 2\)"),
        ([[1]], "two classes or more"),
        ([], "square"),
        ([[1, 0], [1]], "table of numbers"),
        ([["a", "b"], ["c", "d"]], "table of numbers"),
        (None, "square"),
    ],
)
def test_check_refuses_and_names_the_first_wrong_row(T, reason):
    with pytest.raises(errors.InvalidTransition, match=reason):
        transition.check(T)


@pytest.mark.parametrize("priors", [[0.5], [0.5, -0.5, 1], [0, 0, 0], [float("nan"), 0, 1], [[1, 1, 1]]])
def test_priors_that_are_no_shares_are_refused(priors):
    with pytest.raises(errors.InvalidConfig, match="priors must be 3 numbers"):
        transition.noise_rates(np.eye(3), priors)


def test_a_witness_doubts_what_few_rows_never_showed_and_hardly_what_many_did_not():
    T = noise.pair_flip(5, 0.3)
    few, many = (transition.doubted(T, np.full(5, rows)) for rows in (4.0, 4e6))
    np.testing.assert_allclose(few.sum(axis=1), 1)
    assert few.min() == pytest.approx(1 / (5 * 5))
    np.testing.assert_allclose(many, T, atol=1e-6)
    assert (many > 0).all()
    np.testing.assert_allclose(transition.doubted(np.eye(5), np.zeros(5)), 0.2)  # of no rows: nothing


def test_a_class_is_mostly_given_its_own_label_unless_another_is_given_oftener():
    T = np.array([[0.3, 0.6, 0.1], [0.5, 0.5, 0.0], [0.2, 0.3, 0.5]])
    assert transition.mostly(T).tolist() == [1, 1, 2]
