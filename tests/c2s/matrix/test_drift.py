"""Drift: equal noise is seldom called different, other noise is."""

import numpy as np

from c2s.matrix import drift, intervals, noise


def estimated(T, rng, rows=3000):
    clean = rng.integers(len(T), size=rows)
    counts = np.stack([rng.multinomial((clean == k).sum(), row) for k, row in enumerate(T)])
    found = counts / counts.sum(axis=1, keepdims=True)
    ends = intervals.sampled(found, clean, rng=rng).matrix
    return found, np.stack(ends, axis=-1)


def test_two_samples_of_one_noise_differ_by_chance():
    rng, T = np.random.default_rng(0), noise.symmetric(4, 0.3)
    called = []
    for _ in range(30):
        (a, ends_a), (b, ends_b) = estimated(T, rng), estimated(T, rng)
        called.append(drift.compare(a, b, ends_a=ends_a, ends_b=ends_b).more_than_chance)
    assert np.mean(called) <= 0.1


def test_other_noise_differs_by_more_than_chance():
    rng = np.random.default_rng(1)
    (a, ends_a), (b, ends_b) = (
        estimated(noise.symmetric(4, 0.2), rng),
        estimated(noise.symmetric(4, 0.35), rng),
    )
    found = drift.compare(a, b, ends_a=ends_a, ends_b=ends_b)
    assert found.more_than_chance
    assert (np.diag(found.difference) < 0).all()
    assert found.distance > 0.2


def test_matrices_that_were_given_are_taken_as_exact():
    T = noise.symmetric(3, 0.2)
    assert not drift.compare(T, T, ends_a=None, ends_b=None).more_than_chance
    assert drift.compare(T, noise.symmetric(3, 0.21), ends_a=None, ends_b=None).more_than_chance
