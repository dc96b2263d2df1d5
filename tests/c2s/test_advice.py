"""Advice: each rule fires where it should, and gives its reason."""

import numpy as np
import pytest

from c2s import advice, noise

MANY = 100_000


@pytest.mark.parametrize(
    ("T", "rows", "method", "word"),
    [
        (noise.symmetric(10, 0.01), MANY, "ce", "1.0%"),
        (noise.symmetric(10, 0.4), MANY, "f-class2simi", "pairs"),
        (noise.symmetric(2, 0.3), MANY, "forward", "do not help"),
        (noise.symmetric(20, 0.75), MANY, "forward", "say little"),
        (noise.symmetric(10, 0.4), 1000, "prune", "100 rows a class"),
    ],
)
def test_the_method_follows_from_the_matrix_and_the_rows(T, rows, method, word):
    found = advice.advise(T, np.full(len(T), 1 / len(T)), rows=rows)
    assert found.method == method
    assert word in found.reason


def test_a_skewed_prior_can_make_pairs_noisier_than_classes():
    T, priors = noise.symmetric(4, 0.2), [0.97, 0.01, 0.01, 0.01]
    assert advice.advise(T, priors, rows=MANY).method == "forward"


@pytest.mark.parametrize(
    ("classes", "rows", "method"),
    [(2, MANY, "forward"), (10, MANY, "f-class2simi"), (10, 500, "prune")],
)
def test_without_a_matrix_the_counts_decide(classes, rows, method):
    assert advice.blind(classes, rows=rows).method == method
