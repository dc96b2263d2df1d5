"""How far T_c, T_s and the noise rates may be off: 95 % intervals.

Rows are drawn again and the matrix is fitted again. What resampling cannot see is that rows which stage 1 puts in the
wrong class pass for label noise, so the interval does not stand around the estimate but around the matrix with those
errors taken out (`refinement`), and is stretched to hold the estimate as well. With very many classes that fit is too
large; there the estimate itself is repeated, and the interval reaches out to where twice the step from all rows to the
surer half of them leads, among which there are fewer such errors. Folds: nets of different folds differ, so the spread
is raised to that of leaving one fold out, where that is larger. Each entry is at least as wide as a proportion of its
class's rows is.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from c2s import estimation, refinement, transition

Z = 1.959964  # of a two-sided 95 % interval
REPLICATES, FEWEST = 200, 30
ENTRIES = 2**20  # of the posterior in one replicate
CELLS = 4 * 2**20  # of T_c in all replicates together: with very many classes there are fewer
DOUBT = 0.08  # standard error of what the fit takes out, as a share of it (measured)
CLASSES = 32  # up to which errors of stage 1 are taken out by a fit
STEPS = 2.0  # to the surer half; the second stands for the errors that are left among them
SUM_STEPS = 4.0  # of T_s and the rates: in sums over classes errors add up that entries share out (measured)
HALVING = 4  # times the rows halve an interval
NOTHING = 0.5  # rows of a class: a low end below it is zero, which no fit reaches
Estimator = Callable[[estimation.Posterior, estimation.Labels], transition.Matrix]
Basis = Literal["rows", "sampling"]
Folds = NDArray[np.integer[Any]]  # (n,)  the fold of each row, -1 for rows of none


class Range(NamedTuple):
    """The ends of an interval, of one number or of an array."""

    low: transition.Matrix
    high: transition.Matrix


@dataclass(frozen=True, eq=False)
class Intervals:
    """95 % intervals; `sampling` alone says nothing of the model's errors and is a least width."""

    basis: Basis
    matrix: Range  # (c, c)
    similarity: Range  # (2, 2)
    rates: Range  # (2,)  class, similarity

    def plain(self) -> dict[str, Any]:
        """As a card keeps it: [low, high] for every number."""
        (s, rates) = (_pairs(self.similarity), _pairs(self.rates))
        return {
            "basis": self.basis,
            "matrix": _pairs(self.matrix),
            "similarity": {"t00": s[0][0], "t01": s[0][1], "t10": s[1][0], "t11": s[1][1]},
            "noise_rate": {"class": rates[0], "similarity": rates[1]},
        }


def _pairs(found: Range) -> list[Any]:
    pairs: list[Any] = np.stack([found.low, found.high], axis=-1).tolist()
    return pairs


def confident(P: estimation.Posterior, y: estimation.Labels) -> transition.Matrix:
    """The default estimator, as `resampled` takes one."""
    return estimation.confident_joint(P, y).T


def resampled(
    estimate: Estimator,
    P: estimation.Posterior,
    y: estimation.Labels,
    *,
    folds: Folds | None = None,
    refined: refinement.Refined | None = None,
    rng: np.random.Generator,
) -> Intervals:
    """Intervals of an estimator that reads T_c off posteriors; `refined` is the fit to them, if it was made before."""
    T_c = estimate(P, y)
    factor = _fold_factor(estimate, P, y, folds)
    if len(T_c) > CLASSES:
        found = _reaching(estimate, T_c, P, y, factor=factor, rng=rng)
        return _shaped("rows", found, T_c, y)
    refined = refined or refinement.refine(P, y)
    again = refinement.redrawn(refined, REPLICATES, rng=rng)
    spread = _spread(_quantities(T, y) for T in again) * factor * np.sqrt(len(refined.y) / len(y))
    middle, chosen = _quantities(refined.T, y), _quantities(T_c, y)
    spread = np.hypot(spread, DOUBT * (middle - chosen))
    low, high = np.minimum(middle - Z * spread, chosen), np.maximum(middle + Z * spread, chosen)
    return _shaped("rows", Range(low, high), refined.T, y)


def _reaching(
    estimate: Estimator,
    T_c: transition.Matrix,
    P: estimation.Posterior,
    y: estimation.Labels,
    *,
    factor: float,
    rng: np.random.Generator,
) -> Range:
    """The estimate's own spread, and the way to where rows that stage 1 is surer of lead."""
    c, n = P.shape[1], len(y)
    drawn = min(n, max(1, ENTRIES // c))
    again = (rng.integers(n, size=drawn) for _ in range(_replicates(c)))
    spread = _spread(_quantities(estimate(P[rows], y[rows]), y[rows]) for rows in again)
    spread *= np.sqrt(drawn / n) * factor
    found = _quantities(T_c, y)
    step = STEPS * (_quantities(_moved(T_c, _step(P, y)), y) - found)
    step[c * c :] *= SUM_STEPS / STEPS
    return Range(found - Z * spread + np.minimum(step, 0), found + Z * spread + np.maximum(step, 0))


def sampled(T_c: transition.Matrix, y: estimation.Labels, *, rng: np.random.Generator) -> Intervals:
    """Intervals of a T_c that was learnt: of so many rows with labels drawn from it."""
    priors = transition.clean_priors(T_c, np.bincount(y, minlength=len(T_c)))
    rows = np.maximum(1, np.rint(priors * len(y))).astype(np.int64)  # (c,)
    drawn = (rng.multinomial(rows, _exact(T_c)) / rows[:, None] for _ in range(_replicates(len(T_c))))
    spread = _spread(_quantities(T, y) for T in drawn)
    found = _quantities(T_c, y)
    return _shaped("sampling", Range(found - Z * spread, found + Z * spread), T_c, y)


def _exact(T_c: transition.Matrix) -> transition.Matrix:
    """Rows whose sums pass for one in a draw."""
    exact: transition.Matrix = T_c / T_c.sum(axis=1, keepdims=True) * (1 - 1e-12)
    return exact


def _replicates(c: int) -> int:
    return max(FEWEST, min(REPLICATES, CELLS // c**2))


def _quantities(T_c: transition.Matrix, y: estimation.Labels) -> transition.Vector:
    """All that has an interval, in one row: T_c, T_s, both rates."""
    priors = transition.clean_priors(T_c, np.bincount(y, minlength=len(T_c)))
    T_s = transition.similarity_from_class(T_c, priors)
    return np.concatenate([T_c.ravel(), T_s.ravel(), transition.noise_rates(T_c, priors)])


def _spread(found: Iterator[transition.Vector]) -> transition.Vector:
    """The standard deviation of each quantity, in memory for three rows (Welford)."""
    count, mean, squares = 0, np.zeros(()), np.zeros(())
    for row in found:
        count += 1
        off = row - mean
        mean = mean + off / count
        squares = squares + off * (row - mean)
    spread: transition.Vector = np.sqrt(squares / max(1, count - 1))
    return spread


def _fold_factor(
    estimate: Estimator, P: estimation.Posterior, y: estimation.Labels, folds: Folds | None
) -> float:
    """By how much leaving folds out moves T_c more than leaving out as many rows at random would; one or more."""
    if folds is None or len(numbers := np.unique(folds[folds >= 0])) < 3:
        return 1.0
    share = np.random.default_rng(0).permutation(
        folds
    )  # the same sizes, but the rows of no net in particular
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


def _moved(T_c: transition.Matrix, step: transition.Matrix) -> transition.Matrix:
    """T_c after a step, its rows still distributions."""
    further = np.maximum(T_c + step, 0)
    moved: transition.Matrix = further / further.sum(axis=1, keepdims=True)
    return moved


def _shaped(basis: Basis, found: Range, T_c: transition.Matrix, y: estimation.Labels) -> Intervals:
    c = len(T_c)
    low, high = np.clip(found.low, 0, 1), np.clip(found.high, 0, 1)
    rows = transition.clean_priors(T_c, np.bincount(y, minlength=c)) * len(y)  # (c,)
    least = Range(*wilson(T_c, np.maximum(rows, 1.0)[:, None]))  # never empty where nothing was counted
    lower = np.minimum(low[: c * c].reshape(c, c), least.low)
    lower = np.where(lower * rows[:, None] < NOTHING, 0.0, lower)
    matrix = Range(lower, np.maximum(high[: c * c].reshape(c, c), least.high))
    similarity = Range(low[c * c : -2].reshape(2, 2), high[c * c : -2].reshape(2, 2))
    return Intervals(basis, matrix, similarity, Range(low[-2:], high[-2:]))


def wilson(p: Any, n: Any) -> tuple[Any, Any]:
    """Wilson's interval of shares among so many rows: of numbers, or of arrays entry by entry."""
    centre = (p + Z**2 / (2 * n)) / (1 + Z**2 / n)
    half = Z / (1 + Z**2 / n) * np.sqrt(p * (1 - p) / n + Z**2 / (4 * n**2))
    low, high = np.clip(centre - half, 0, 1), np.clip(centre + half, 0, 1)
    return np.minimum(low, p), np.maximum(
        high, p
    )  # of all or none the end is the share itself, to the last bit


def halving(rows: int, most: int) -> tuple[int | None, str | None]:
    """Further rows that would halve an interval; None where there are not so many, and what all `most` would do."""
    more = (HALVING - 1) * rows
    if rows + more <= most:
        return more, None
    needs = f"{more} further rows would halve the interval, more than there are to look at"
    if most <= rows:
        return None, f"{needs}: none is left."
    return None, f"{needs}: all {most - rows} that are left would make it {(rows / most) ** 0.5:.2f} as wide."
