import numpy as np
import pytest

from c2s import streams
from c2s.matrix import consensus, estimation, noise


def clusters(T, n=4000, seed=0, spread=1.0):
    c = len(T)
    rng = np.random.default_rng(seed)
    priors = rng.dirichlet(np.full(c, 8.0))
    clean = rng.choice(c, n, p=priors)
    x = np.random.default_rng(9).normal(size=(c, 16))[clean] * 2 + spread * rng.normal(size=(n, 16))
    return x, noise.corrupt(clean, T, rng=streams.numpy(seed, "flips")), np.bincount(clean, minlength=c) / n


@pytest.mark.parametrize(
    "T", [noise.symmetric(5, 0.4), noise.pair_flip(5, 0.4), noise.random_dominant_at(8, 0.5)]
)
def test_neighbours_tell_the_matrix_and_the_priors_without_training(T):
    x, y, priors = clusters(T)
    found = consensus.estimate(x, y, len(T))
    assert estimation.error(found.T, T) < 0.04
    assert np.abs(found.priors - priors).max() < 0.06
    np.testing.assert_allclose(found.T.sum(1), 1)
    assert found.flagged == ()


def test_exact_shares_of_triples_give_the_matrix_back():
    T, pi = noise.random_dominant_at(3, 0.3), np.array([0.5, 0.3, 0.2])
    shares = np.einsum("k,ka,kb,kc->abc", pi, T, T, T)
    counts = np.round(shares * 200_000).astype(int)
    triples = np.repeat(np.argwhere(counts >= 0), counts.ravel(), axis=0)
    found = consensus.likeliest(triples, 3)
    np.testing.assert_allclose(found.T, T, atol=0.01)
    np.testing.assert_allclose(found.priors, pi, atol=0.01)


def test_a_row_is_not_its_own_neighbour():
    x = np.array([[1.0, 0], [1.0, 0.01], [1.0, 0.02], [-1.0, 0], [-1.0, 0.1], [-1.0, 0.2]])
    near = consensus.neighbours(x, np.arange(6))
    assert [sorted(pair) for pair in near.tolist()] == [[1, 2], [0, 2], [0, 1], [4, 5], [3, 5], [3, 4]]


def test_blocks_change_nothing(monkeypatch):
    x, y, _ = clusters(noise.symmetric(4, 0.3), n=500)
    whole = consensus.estimate(x, y, 4)
    monkeypatch.setattr(consensus, "BLOCK", 600)
    np.testing.assert_allclose(consensus.estimate(x, y, 4).T, whole.T, atol=1e-9)


def test_the_same_seed_asks_the_same_rows(monkeypatch):
    monkeypatch.setattr(consensus, "CROWD", 300)
    monkeypatch.setattr(consensus, "QUERIES", 100)
    x, y, _ = clusters(noise.symmetric(4, 0.3), n=500)
    one, two = consensus.estimate(x, y, 4, seed=1), consensus.estimate(x, y, 4, seed=1)
    np.testing.assert_array_equal(one.T, two.T)


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_next_to_no_rows_tell_nothing_and_break_nothing(rows):
    found = consensus.estimate(np.ones((rows, 2)), np.arange(rows) % 2, 3)
    assert np.isfinite(found.T).all()
    assert 2 in found.flagged
