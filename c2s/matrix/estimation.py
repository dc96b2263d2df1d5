"""Estimators of T_c from the posteriors of a net trained on noisy labels.

Rows are clean, columns are noisy: T[i, j] = P(noisy=j | clean=i). P is (n, c), the noisy-class posterior of
each point on un-augmented input; y is (n,), its noisy label. A class without evidence keeps the identity's row and
is flagged. Anchors under-state the noise of an over-confident net; counting is better where stage 1 is mostly right.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from c2s import errors
from c2s.matrix import transition

Posterior = NDArray[np.floating]  # (n, c)
Labels = NDArray[np.int64]  # (n,)
LabelsIn = NDArray[np.integer]

BLOCK = 2**22  # posterior entries worked on at a time, so that no temporary grows with n * c


@dataclass(frozen=True, eq=False)
class Estimated:
    """An estimate of T_c, and the classes whose row is the identity's for want of evidence."""

    T: transition.Matrix  # (c, c)
    flagged: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class ConfidentJoint(Estimated):
    """The confident joint with what it says about each row."""

    joint: transition.Matrix  # (c, c)  P(clean = i, noisy = j); columns sum to the noisy shares
    likely: Labels  # (n,)    the class a row counts as; predicted class where none is confident
    suspects: NDArray[np.bool_]  # (n,)  rows counted off the diagonal
    counted: NDArray[np.bool_]  # (n,)  rows that reach a threshold
    scale: transition.Vector  # (c,)    what calibrates the columns


def anchors(P: Posterior, percentile: float | None = 97.0, *, adapt: bool = True) -> Estimated:
    """Row i is the posterior of one point, the surest of i below a percentile of P[:, i] over all points.

    Percentile 100 drops only the maximum, None drops nothing. Where a class is rare, or one of many, such a cut
    falls outside it: with `adapt` the cut holds only while it drops at most half as many points as are predicted
    i, and else the anchor is the median of the points predicted i.
    """
    _check(P)
    if percentile is not None and not 0 <= percentile <= 100:
        raise errors.InvalidConfig(f"a percentile lies in [0, 100], not {percentile}")
    groups = _groups(P.argmax(axis=1), P.shape[1])
    dropped = 0.0 if percentile is None else max(1.0, len(P) * (1 - percentile / 100))
    chosen = np.zeros(len(groups), dtype=np.intp)  # (c,)
    for i, members in enumerate(groups):
        column = P[:, i]  # (n,)
        if adapt and len(members) and dropped > len(members) / 2:
            chosen[i] = members[column[members].argsort(kind="stable")[(len(members) - 1) // 2]]
        else:
            chosen[i] = _surest(column, percentile)
    rows = P[chosen].astype(np.float64)  # (c, c)
    predicted = np.array([len(members) > 0 for members in groups])
    return _normalised(np.where(predicted[:, None], rows, 0.0))


def _surest(column: NDArray[np.floating], percentile: float | None) -> int:
    if percentile is not None:
        below = column < np.percentile(column, percentile)  # (n,)
        if below.any():
            return int(np.where(below, column, -1).argmax())
    return int(column.argmax())


def mean_posterior(P: Posterior) -> Estimated:
    """Row i is the mean posterior of the points predicted i."""
    _check(P)
    sums = np.zeros((P.shape[1], P.shape[1]))
    for i, members in enumerate(_groups(P.argmax(axis=1), P.shape[1])):
        sums[i] = P[members].sum(axis=0, dtype=np.float64)
    return _normalised(sums)


def counts(P: Posterior, y: LabelsIn) -> Estimated:
    """Row i is the distribution of the noisy labels among the points predicted i."""
    _check(P)
    return _normalised(_cross(P.argmax(axis=1), _labels(y, P), P.shape[1]))


def from_gold(gold: Labels, y: Labels, c: int) -> Estimated:
    """Row i is the distribution of the noisy labels among the rows known to be i; -1 marks those of no known class."""
    known = gold >= 0
    counted = _cross(gold[known], y[known], c)
    rows = counted.sum(axis=1, keepdims=True)  # (c, 1)
    T = np.where(rows > 0, counted / np.maximum(rows, 1), np.eye(c))
    return Estimated(T, tuple(int(i) for i in np.flatnonzero(rows[:, 0] == 0)))


def dual_t(P: Posterior, y: LabelsIn, percentile: float | None = 97.0, *, adapt: bool = True) -> Estimated:
    """Anchors times counts (Yao et al. 2020); counts the noise twice where the posterior is calibrated."""
    first, second = anchors(P, percentile, adapt=adapt), counts(P, y)
    return Estimated(first.T @ second.T, tuple(sorted({*first.flagged, *second.flagged})))


def confident_joint(P: Posterior, y: LabelsIn) -> ConfidentJoint:
    """Count (likely class, noisy label) over rows that reach a class's mean self-confidence, then calibrate.

    Northcutt et al. 2021: a row counts as the likeliest class among those whose mean self-confidence it reaches,
    and each column is scaled to the number of its noisy labels.
    """
    _check(P)
    y, c = _labels(y, P), P.shape[1]
    thresholds = usual_confidence(P, y)
    likely = P.argmax(axis=1)  # (n,)
    confident = np.zeros(len(P), dtype=np.bool_)
    for rows in _blocks(P):
        reached = P[rows] >= thresholds  # (block, c)
        confident[rows] = reached.any(axis=1)
        best = np.where(reached, P[rows], -1).argmax(axis=1)  # (block,)
        likely[rows] = np.where(confident[rows], best, likely[rows])
    counted = _cross(likely[confident], y[confident], c)
    # Each column that occurs has a count: the surest row of a class reaches the class's own threshold.
    scale = np.bincount(y, minlength=c) / np.maximum(counted.sum(axis=0), 1)  # (c,)
    joint = counted * scale[None, :] / len(y)  # (c, c)
    plain = _normalised(joint)
    suspects = confident & (likely != y)
    return ConfidentJoint(plain.T, plain.flagged, joint, likely, suspects, confident, scale)


def usual_confidence(P: Posterior, y: Labels) -> transition.Vector:
    """Mean self-confidence of each class; out of reach for a class without labels."""
    thresholds = np.full(P.shape[1], np.inf)
    for j, members in enumerate(_groups(y, P.shape[1])):
        if len(members):
            own = P[members, j]
            # A mean of equals may round above them, and then no row would reach it.
            thresholds[j] = min(own.mean(dtype=np.float64), own.max())
    return thresholds


def compare(estimates: Mapping[str, transition.Matrix], chosen: str) -> dict[str, float]:
    """The mean L1 distance of rows between each estimate and the chosen one, whose own is zero."""
    if chosen not in estimates:
        raise errors.InvalidConfig(f"{chosen} is none of the estimates {', '.join(estimates)}")
    return {name: float(np.abs(T - estimates[chosen]).sum(axis=1).mean()) for name, T in estimates.items()}


def ambiguity(P: Posterior) -> float:
    """The share of points whose second class has more than half the posterior of the first.

    Counting trusts the predicted class. Where this share is large, stage 1 wavers between two classes (pair
    flip near one half, overlapping classes, too short a training) and T is better learnt jointly.
    """
    _check(P)
    wavering = 0
    for rows in _blocks(P):
        top = np.partition(P[rows], P.shape[1] - 2, axis=1)[:, -2:]  # (block, 2)  second, first
        wavering += int((top[:, 0] > top[:, 1] / 2).sum())
    return wavering / len(P)


def error(T_hat: transition.Matrix, T: transition.Matrix) -> float:
    """The mean absolute error of an estimate, over all entries."""
    return float(np.abs(T_hat - T).mean())


def _normalised(weights: transition.Matrix) -> Estimated:
    """Rows divided by their sums; a class never seen under its own label gets the identity's row, flagged."""
    sums = weights.sum(axis=1, keepdims=True)  # (c, 1)
    empty = np.diag(weights) <= 0  # (c,)  what is counted there is noise, not evidence
    T = np.where(empty[:, None], np.eye(len(weights)), weights / np.where(sums > 0, sums, 1))
    return Estimated(T, tuple(int(i) for i in np.flatnonzero(empty)))


def _cross(rows: Labels, columns: Labels, c: int) -> transition.Matrix:
    return np.bincount(rows * c + columns, minlength=c * c).reshape(c, c).astype(np.float64)


def _groups(labels: Labels, c: int) -> list[NDArray[np.intp]]:
    """The row numbers of each class, ascending."""
    order = np.argsort(labels, kind="stable")
    return np.split(order, np.cumsum(np.bincount(labels, minlength=c))[:-1])


def _blocks(P: Posterior) -> Iterator[slice]:
    step = max(1, BLOCK // P.shape[1])
    return (slice(start, start + step) for start in range(0, len(P), step))


def _check(P: Posterior) -> None:
    if P.ndim != 2 or len(P) == 0 or P.shape[1] < 2:
        raise errors.InvalidDataset(f"posteriors must be rows over two classes or more, not {P.shape}")
    if not (P.min() >= 0 and P.max() <= 1 + transition.TOLERANCE):
        raise errors.InvalidDataset("posteriors must be probabilities; one is outside [0, 1] or not a number")


def _labels(y: LabelsIn, P: Posterior) -> Labels:
    if y.shape != (len(P),) or not np.issubdtype(y.dtype, np.integer):
        raise errors.InvalidDataset(f"{len(P)} posteriors need as many labels in one row of whole numbers")
    if not (y.min() >= 0 and y.max() < P.shape[1]):
        raise errors.InvalidDataset(f"labels must lie in 0..{P.shape[1] - 1}, not {y.min()}..{y.max()}")
    return y.astype(np.int64)
