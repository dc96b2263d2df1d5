import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from c2s import errors
from c2s.matrix import noise, transition

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "noise.json").read_text())
RATES = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("c", [10, 20])
def test_random_dominant_is_the_matrix_of_the_authors(c, rate):
    T_c = noise.random_dominant(c, k=noise.authors_k(rate))
    np.testing.assert_allclose(T_c, GOLDEN[f"asym_c{c}_r{rate}"]["T_c"], atol=1e-12)


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("c", [10, 20, 100])
def test_the_nominal_rate_of_the_authors_is_not_the_actual_one(c, rate):
    T_c = noise.random_dominant(c, k=noise.authors_k(rate))
    actual = transition.noise_rates(T_c).class_
    assert actual == pytest.approx(GOLDEN[f"asym_c{c}_r{rate}"]["actual_class_noise"], abs=1e-11)
    assert abs(actual - rate) > 1e-4


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("rate", [0.2, 0.6])
@pytest.mark.parametrize("kind", ["sym", "asym"])
def test_a_legacy_generator_repeats_the_flips_of_the_authors(kind, rate, seed):
    T_c = noise.symmetric(10, rate) if kind == "sym" else noise.random_dominant(10, k=noise.authors_k(rate))
    flips = noise.corrupt(np.tile(np.arange(10), 20), T_c, rng=np.random.RandomState(seed))
    assert flips.tolist() == GOLDEN[f"flips_{kind}_r{rate}_seed{seed}"]


def test_a_rate_with_rounding_error_finds_its_k():
    assert 0.1 + 0.2 != 0.3
    assert noise.authors_k(0.1 + 0.2) == 1.2
    assert [noise.authors_k(rate) for rate in np.arange(0.1, 0.65, 0.1)] == list(noise.AUTHORS_K.values())


def test_a_rate_the_authors_never_used_is_refused_with_those_they_did():
    with pytest.raises(errors.InvalidConfig, match=r"0\.1, 0\.2, .* not 0\.35"):
        noise.authors_k(0.35)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(2, 60), st.floats(1e-6, 0.45), st.integers(0, 5))
def test_random_dominant_at_reaches_its_rate_to_the_last_digits(c, rate, seed):
    T_c = transition.check(noise.random_dominant_at(c, rate, seed=seed + 10 * c))
    assert 1 - np.trace(T_c) / c == pytest.approx(rate, abs=1e-14)


def test_random_dominant_at_agrees_with_its_k():
    at = noise.random_dominant_at(10, GOLDEN["asym_c10_r0.4"]["actual_class_noise"])
    np.testing.assert_allclose(at, noise.random_dominant(10, k=0.6), atol=1e-11)


def test_random_dominant_at_ends_at_its_extremes():
    np.testing.assert_array_equal(noise.random_dominant_at(10, 0.0), np.eye(10))
    bare = noise.random_dominant(10, k=0.0)
    most = transition.noise_rates(bare).class_
    np.testing.assert_allclose(noise.random_dominant_at(10, most - 1e-12), bare, atol=1e-10)
    with pytest.raises(errors.InvalidConfig, match=r"0\.9083 at most"):
        noise.random_dominant_at(10, 0.95)


def test_symmetric_noise_never_counts_the_own_class():
    T_c = noise.symmetric(5, 0.4)
    np.testing.assert_allclose(np.diag(T_c), 0.6)
    np.testing.assert_allclose(T_c[~np.eye(5, dtype=bool)], 0.1)


def test_pair_flip_moves_each_class_to_the_next():
    expected = [[0.55, 0.45, 0], [0, 0.55, 0.45], [0.45, 0, 0.55]]
    np.testing.assert_allclose(noise.pair_flip(3, 0.45), expected)


def test_semantic_maps_flip_only_what_looks_alike():
    mnist, cifar = noise.mnist_semantic(0.3), noise.cifar10_semantic(0.4)
    assert {(int(i), int(j)) for i, j in np.argwhere(mnist == 0.3)} == {
        (7, 1),
        (2, 7),
        (3, 8),
        (5, 6),
        (6, 5),
    }
    assert {(int(i), int(j)) for i, j in np.argwhere(cifar == 0.4)} == {
        (9, 1),
        (2, 0),
        (3, 5),
        (5, 3),
        (4, 7),
    }
    assert np.diag(mnist)[[0, 1, 4, 8, 9]].tolist() == [1.0] * 5
    assert np.diag(cifar)[[0, 1, 6, 7, 8]].tolist() == [1.0] * 5


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.integers(2, 30), st.floats(0, 1))
def test_every_matrix_is_stochastic(c, rate):
    for T_c in (noise.symmetric(c, rate), noise.pair_flip(c, rate)):
        assert np.trace(transition.check(T_c)) == pytest.approx(c * (1 - rate))
    transition.check(noise.mnist_semantic(rate))
    transition.check(noise.cifar10_semantic(rate))


@pytest.mark.parametrize("rate", [-0.1, 1.1, float("nan"), float("inf")])
def test_a_rate_outside_0_to_1_is_refused(rate):
    for make in (noise.symmetric, noise.pair_flip, noise.random_dominant_at):
        with pytest.raises(errors.InvalidConfig, match="rate"):
            make(4, rate)


@pytest.mark.parametrize("c", [-1, 0, 1])
def test_fewer_than_two_classes_are_refused(c):
    for make in (noise.symmetric, noise.pair_flip, noise.random_dominant_at):
        with pytest.raises(errors.InvalidConfig, match="two classes"):
            make(c, 0.2)
    with pytest.raises(errors.InvalidConfig, match="two classes"):
        noise.random_dominant(c, k=1.0)


@pytest.mark.parametrize("k", [-0.1, float("nan"), float("inf")])
def test_a_k_that_is_no_weight_is_refused(k):
    with pytest.raises(errors.InvalidConfig, match="k must be"):
        noise.random_dominant(10, k=k)


@pytest.mark.parametrize("flips", [{0: 0}, {0: 3}, {-1: 1}])
def test_a_flip_to_nowhere_is_refused(flips):
    with pytest.raises(errors.InvalidConfig, match="no flip"):
        noise.semantic(3, 0.2, flips=flips)


def test_corrupted_labels_follow_their_row():
    T_c = noise.random_dominant(6, k=0.3)
    y = np.repeat(np.arange(6), 40_000)
    noisy = noise.corrupt(y, T_c, rng=np.random.default_rng(3))
    realised = np.bincount(y * 6 + noisy, minlength=36).reshape(6, 6) / 40_000
    spread = np.sqrt(T_c * (1 - T_c) / 40_000)
    assert (np.abs(realised - T_c) < 5 * spread + 1e-9).all()


def test_a_label_of_probability_zero_is_never_drawn():
    y = np.repeat(np.arange(7), 20_000)
    noisy = noise.corrupt(y, noise.pair_flip(7, 0.5), rng=np.random.default_rng(0))
    assert set(np.unique((noisy - y) % 7)) == {0, 1}


def test_a_draw_of_exactly_zero_skips_labels_of_probability_zero():
    class Zero(np.random.Generator):
        def random(self, size):
            return np.zeros(size)

    later = np.roll(np.eye(3), 1, axis=1)
    assert noise.corrupt(np.arange(3), later, rng=Zero(np.random.PCG64())).tolist() == [1, 2, 0]


def test_a_row_is_flipped_alike_whatever_the_other_labels_are():
    T_c = noise.symmetric(4, 0.5)
    y = np.random.default_rng(5).integers(4, size=500)
    other = y.copy()
    other[:250] = 0
    one, two = (noise.corrupt(labels, T_c, rng=np.random.default_rng(6)) for labels in (y, other))
    np.testing.assert_array_equal(one[250:], two[250:])


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.uint64])
def test_corrupting_leaves_its_arguments_alone(dtype):
    y = np.arange(4, dtype=dtype).repeat(50)
    T_c = noise.symmetric(4, 0.5)
    y.flags.writeable = T_c.flags.writeable = False
    x = np.random.default_rng(0).normal(size=(200, 3))
    rng = np.random.default_rng(1)
    for noisy in (
        noise.corrupt(y, T_c, rng=rng),
        noise.corrupt(y, T_c, rng=np.random.RandomState(1)),
        noise.exact_symmetric(y, 4, 0.5, rng=rng),
        noise.instance(x, y, 0.5, classes=4, rng=rng),
    ):
        assert noisy.dtype == np.int64
        assert noisy.shape == y.shape
        assert (noisy != y).any()


def test_no_labels_are_corrupted_to_no_labels():
    none = np.array([], dtype=np.int64)
    for rng in (np.random.default_rng(0), np.random.RandomState(0)):
        assert noise.corrupt(none, np.eye(3), rng=rng).shape == (0,)
    assert noise.instance(np.empty((0, 5)), none, 0.3, classes=3, rng=np.random.default_rng(0)).shape == (0,)


@pytest.mark.parametrize(
    "y", [np.array([0, 3]), np.array([-1, 0]), np.array([0.0, 1.0]), np.array([[0], [1]])]
)
def test_labels_that_are_no_classes_are_refused(y):
    with pytest.raises(errors.InvalidDataset, match="labels must"):
        noise.corrupt(y, np.eye(3), rng=np.random.default_rng(0))


def test_corrupting_by_what_is_no_transition_is_refused():
    with pytest.raises(errors.InvalidTransition, match="row 1"):
        noise.corrupt(np.array([0]), np.array([[1.0, 0.0], [0.5, 0.4]]), rng=np.random.default_rng(0))


def test_exact_symmetric_flips_an_exact_count_of_each_class():
    y = np.repeat(np.arange(3), [100, 41, 7])
    noisy = noise.exact_symmetric(y, 3, 0.29, rng=np.random.default_rng(2))
    assert [int((noisy[y == i] != i).sum()) for i in range(3)] == [29, 11, 2]
    assert set(np.unique(noisy[y == 0])) == {0, 1, 2}


@pytest.mark.parametrize("rate", [0.0, 0.05, 0.3, 0.6, 1.0])
def test_instance_noise_has_its_rate_on_average(rate):
    rng = np.random.default_rng(4)
    y = rng.integers(5, size=40_000)
    noisy = noise.instance(rng.normal(size=(40_000, 8)), y, rate, classes=5, rng=rng)
    assert (noisy != y).mean() == pytest.approx(rate, abs=0.012)


def test_instance_noise_depends_on_the_instance():
    rng = np.random.default_rng(4)
    x = np.repeat(rng.integers(0, 256, size=(2, 64)).astype(np.uint8), 2000, axis=0)
    noisy = noise.instance(x, np.zeros(4000, dtype=np.int64), 0.5, classes=4, rng=rng)
    first, second = (np.bincount(part, minlength=4)[1:] / 2000 for part in (noisy[:2000], noisy[2000:]))
    assert np.abs(first - second).max() > 0.2


def test_instance_noise_wants_as_many_rows_as_labels():
    with pytest.raises(errors.InvalidDataset, match="3 rows of features for 2 labels"):
        noise.instance(np.zeros((3, 1)), np.array([0, 1]), 0.2, classes=2, rng=np.random.default_rng(0))
