"""How far T_c, T_s and the noise rates move when other rows are looked at: drawn again, without a fold, surer ones."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from c2s.matrix import estimation, transition

Estimator = Callable[[estimation.Posterior, estimation.Labels], transition.Matrix]
Counts = NDArray[np.integer[Any]]  # (c,)  noisy labels of each class
Folds = NDArray[np.integer[Any]]  # (n,)  the fold of each row, -1 for rows of none


def quantities(
    T_c: transition.Matrix, counts: Counts, priors: transition.Vector | None = None
) -> transition.Vector:
    """All that has an interval, in one row: T_c, T_s, both rates; by clean shares that are known or through T_c."""
    priors = transition.clean_priors(T_c, counts) if priors is None else priors
    T_s = transition.similarity_from_class(T_c, priors)
    return np.concatenate([T_c.ravel(), T_s.ravel(), transition.noise_rates(T_c, priors)])


def spread(found: Iterator[transition.Vector]) -> transition.Vector:
    """The standard deviation of each quantity, in memory for three rows (Welford)."""
    count, mean, squares = 0, np.zeros(()), np.zeros(())
    for row in found:
        count += 1
        off = row - mean
        mean = mean + off / count
        squares = squares + off * (row - mean)
    deviation: transition.Vector = np.sqrt(squares / max(1, count - 1))
    return deviation


def fold_factor(
    estimate: Estimator, P: estimation.Posterior, y: estimation.Labels, folds: Folds | None
) -> float:
    """By how much leaving folds out moves T_c more than leaving out as many rows at random would; one or more."""
    if folds is None or len(numbers := np.unique(folds[folds >= 0])) < 3:
        return 1.0
    # the same sizes, but the rows of no net in particular
    share = np.random.default_rng(0).permutation(folds)
    moved = [_jackknife(estimate, P, y, where, numbers) for where in (folds, share)]
    return float(np.sqrt(max(1.0, moved[0] / moved[1]))) if moved[1] > 0 else 1.0


def _jackknife(
    estimate: Estimator, P: estimation.Posterior, y: estimation.Labels, folds: Folds, numbers: Folds
) -> float:
    """The variance of T_c, summed over its entries, by leaving one group of rows out at a time."""
    left = np.stack([estimate(P[folds != k], y[folds != k]) for k in numbers])  # (k, c, c)
    return float(np.square(left - left.mean(axis=0)).sum() * (len(numbers) - 1) / len(numbers))


def _step(P: estimation.Posterior, y: estimation.Labels) -> transition.Matrix:
    """From the labels of all rows that count as each class to those of the surer half of them."""
    joint, c = estimation.confident_joint(P, y), P.shape[1]
    own = P[np.arange(len(P)), joint.likely]  # (n,)
    counted = np.zeros((c, c))
    for i in range(c):
        rows = np.flatnonzero((joint.likely == i) & joint.counted)
        sure = rows[own[rows] >= np.median(own[rows])] if len(rows) else rows
        counted[i] = np.bincount(y[sure], minlength=c)
    weights = counted * joint.scale  # (c, c)  columns calibrated as those of the joint are
    sums = weights.sum(axis=1, keepdims=True)
    return np.where(sums > 0, weights / np.where(sums > 0, sums, 1) - joint.T, 0.0)


def surer(T_c: transition.Matrix, P: estimation.Posterior, y: estimation.Labels) -> transition.Matrix:
    """T_c after a step to what the surer half of the rows says, its rows still distributions."""
    further = np.maximum(T_c + _step(P, y), 0)
    moved: transition.Matrix = further / further.sum(axis=1, keepdims=True)
    return moved
