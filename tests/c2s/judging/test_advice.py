"""Advice: each rule fires where it should, and gives its reason."""

import numpy as np
import pytest

from c2s import config
from c2s.judging import advice
from c2s.matrix import noise

MANY = 100_000


@pytest.mark.parametrize(
    ("T", "rows", "method", "word"),
    [
        (noise.symmetric(10, 0.01), MANY, "ce", "1.0%"),
        (noise.pair_flip(10, 0.4), MANY, "f-class2simi", "100% of the wrong labels name one other class"),
        (noise.pair_flip(3, 0.4), MANY, "forward", "pairs are advised from 4 classes on, these are 3"),
        (np.eye(3)[[1, 2, 0]], MANY, "forward", "pairs are advised from 4 classes on"),
        (np.eye(3)[[0, 0, 2]], MANY, "forward", "pairs are advised from 4 classes on"),
        (noise.pair_flip(10, 0.4), 1000, "forward", "100 rows a class are few for pairs"),
        (noise.symmetric(10, 0.4), MANY, "apl", "spread"),
        (noise.symmetric(10, 0.6), 1000, "apl", "60% of the labels look wrong"),
        (noise.symmetric(4, 0.3), 1000, "jocor", "1000 rows are few"),
        (noise.symmetric(10, 0.3), 1000, "co-teaching", "1000 rows are few"),
        (noise.symmetric(50, 0.4), MANY, "phuber-ce", "50 classes"),
    ],
)
def test_the_method_follows_from_the_matrix_and_the_rows(T, rows, method, word):
    found = advice.advise(T, np.full(len(T), 1 / len(T)), rows=rows)
    assert found.method == method
    assert word in found.reason


def test_a_skewed_prior_can_make_pairs_noisier_than_classes():
    T, priors = noise.pair_flip(4, 0.3), [0.97, 0.01, 0.01, 0.01]
    found = advice.advise(T, priors, rows=MANY)
    assert found.method == "forward"
    assert "would not be cleaner" in found.reason


def test_pairs_that_hide_the_classes_are_not_advised():
    T = 0.3 * np.eye(8) + 0.7 * np.eye(8)[[0] * 8]  # most rows of every class are called the first
    found = advice.advise(T, None, rows=MANY)
    assert found.method == "forward"
    assert "say little" in found.reason


@pytest.mark.parametrize(
    ("classes", "rows", "method"),
    [
        (2, MANY, "apl"),
        (2, 1000, "jocor"),
        (10, 500, "co-teaching"),
        (10, MANY, "apl"),
        (100, MANY, "phuber-ce"),
    ],
)
def test_without_a_matrix_the_counts_decide(classes, rows, method):
    assert advice.blind(classes, rows=rows).method == method


@pytest.mark.parametrize(
    ("T", "share"), [(noise.pair_flip(6, 0.3), 1.0), (noise.symmetric(6, 0.3), 0.2), (np.eye(6), 0.0)]
)
def test_concentration_is_the_share_of_the_likeliest_wrong_label(T, share):
    assert advice.concentration(T, None) == pytest.approx(share)


def test_every_advised_method_is_one_of_the_service():
    advised = {
        advice.advise(T, None, rows=rows).method
        for T in (noise.symmetric(c, r) for c in (2, 6, 12, 40) for r in (0, 0.3, 0.7))
        for rows in (100, MANY)
    }
    for method in advised:
        config.TrainConfig.parse({"method": method})
