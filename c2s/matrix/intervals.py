"""How far T_c, T_s and the noise rates may be off: 95 % intervals.

Rows are drawn again and the matrix is fitted again. What resampling cannot see is that rows which stage 1 puts in the
wrong class pass for label noise, so the interval does not stand around the estimate but around the matrix with those
errors taken out (`refinement`), and is stretched to hold the estimate as well, be it counted or learnt. With very many
classes that fit is too large; there the estimate itself is repeated, and the interval reaches out to where twice the
step from all rows to the surer half of them leads, among which there are fewer such errors. Folds: nets of different
folds differ, so the spread is raised to that of leaving one fold out, where that is larger. Each entry is at least as
wide as a proportion of its class's rows is.
"""

from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Literal, NamedTuple

import numpy as np

from c2s.matrix import estimation, proportions, redraws, refinement, transition
from c2s.matrix.redraws import Counts, Estimator, Folds

REPLICATES, FEWEST = 200, 30
ENTRIES = 2**20  # of the posterior in one replicate
CELLS = 4 * 2**20  # of T_c in all replicates together: with very many classes there are fewer
NORMAL, MISSED = NormalDist(), 0.05  # what an interval of 95 % leaves out, on both sides together
DOUBT = 0.08  # standard error of what the fit takes out, as a share of it (measured)
CLASSES = 32  # up to which errors of stage 1 are taken out by a fit
STEPS = 2.0  # to the surer half; the second stands for the errors that are left among them
SUM_STEPS = 4.0  # of T_s and the rates: in sums over classes errors add up that entries share out (measured)
NOTHING = 0.5  # rows: a low end below it is zero, which no fit reaches
FEW_WRONG = 10  # rows with wrong labels, below which drawing rows again sees too little of chance
Basis = Literal["rows", "sampling"]


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


@dataclass(frozen=True, eq=False)
class Fit:
    """T_c with stage 1's errors taken out, and its spread: what intervals of any estimate stand around."""

    T_c: transition.Matrix
    spread: transition.Vector  # of all `redraws.quantities`
    labels: Counts  # of the rows that it was fitted to
    counts: Counts  # by which T_s and the rates are told

    def around(self, T_c: transition.Matrix, priors: transition.Vector | None = None) -> Intervals:
        """Intervals that hold an estimate, however it came about; `priors` if some came with it."""
        middle = redraws.quantities(self.T_c, self.counts)
        chosen = redraws.quantities(T_c, self.counts, priors)
        spread = np.hypot(self.spread, DOUBT * (middle - chosen))
        return _shaped("rows", _holding(chosen, middle, spread), self.T_c, self.labels)


def fit(
    P: estimation.Posterior,
    y: estimation.Labels,
    *,
    estimate: Estimator = confident,
    folds: Folds | None = None,
    counts: Counts | None = None,
    refined: refinement.Refined | None = None,
    rng: np.random.Generator,
) -> Fit:
    """Rows drawn again; how much nets of different folds differ is told by `estimate`."""
    labels = np.bincount(y, minlength=P.shape[1])
    refined = refined or refinement.refine(P, y)
    counts = labels if counts is None else counts
    again = refinement.redrawn(refined, REPLICATES, rng=rng)
    spread = redraws.spread(redraws.quantities(T, counts) for T in again) * np.sqrt(len(refined.y) / len(y))
    return Fit(refined.T, spread * redraws.fold_factor(estimate, P, y, folds), labels, counts)


def resampled(
    estimate: Estimator,
    P: estimation.Posterior,
    y: estimation.Labels,
    *,
    folds: Folds | None = None,
    counts: Counts | None = None,
    rng: np.random.Generator,
) -> Intervals:
    """Intervals of an estimator that reads T_c off posteriors.

    T_s and the rates are those of classes whose labels are as many as `counts`, if these are not the rows' own.
    """
    T_c = estimate(P, y)
    labels = np.bincount(y, minlength=len(T_c))
    counts = labels if counts is None else counts
    if len(T_c) > CLASSES:
        factor = redraws.fold_factor(estimate, P, y, folds)
        found = _reaching(estimate, T_c, P, y, counts=counts, factor=factor, rng=rng)
        return _shaped("rows", found, T_c, labels)
    return fit(P, y, estimate=estimate, folds=folds, counts=counts, rng=rng).around(T_c)


def _holding(chosen: transition.Vector, middle: transition.Vector, spread: transition.Vector) -> Range:
    """95 % around the middle that hold the estimate: what its side is stretched by, the other side gives up.

    An end that was moved out to a biased estimate is hardly ever missed. The chance of being missed that is left to
    the other end is then up to all of the 5 %, and more would be promised than is said if that stayed at half of it.
    """
    width = np.maximum(spread, np.finfo(np.float64).tiny)
    beyond = np.maximum(np.abs(chosen - middle) / width, proportions.Z)  # to the estimate's end
    other = np.array([-NORMAL.inv_cdf(MISSED - NORMAL.cdf(-far)) for far in beyond])
    above = chosen > middle
    low = middle - np.where(above, other, beyond) * spread
    high = middle + np.where(above, beyond, other) * spread
    return Range(np.minimum(low, chosen), np.maximum(high, chosen))  # to the last bit


def _reaching(
    estimate: Estimator,
    T_c: transition.Matrix,
    P: estimation.Posterior,
    y: estimation.Labels,
    *,
    counts: Counts,
    factor: float,
    rng: np.random.Generator,
) -> Range:
    """The estimate's own spread, and the way to where rows that stage 1 is surer of lead."""
    c, n = P.shape[1], len(y)
    drawn = min(n, max(1, ENTRIES // c))
    again = (rng.integers(n, size=drawn) for _ in range(_replicates(c)))
    spread = redraws.spread(
        redraws.quantities(estimate(P[rows], y[rows]), np.bincount(y[rows], minlength=c)) for rows in again
    )
    spread *= np.sqrt(drawn / n) * factor
    found = redraws.quantities(T_c, counts)
    step = STEPS * (redraws.quantities(redraws.surer(T_c, P, y), counts) - found)
    step[c * c :] *= SUM_STEPS / STEPS
    return Range(
        found - proportions.Z * spread + np.minimum(step, 0),
        found + proportions.Z * spread + np.maximum(step, 0),
    )


def sampled(
    T_c: transition.Matrix,
    y: estimation.Labels,
    *,
    priors: transition.Vector | None = None,
    counts: Counts | None = None,
    rng: np.random.Generator,
) -> Intervals:
    """Intervals of a T_c that nothing else is known of: of so many rows with labels drawn from it.

    T_s and the rates are told by `counts`, if the rows are no fair sample of the classes.
    """
    labels, known = np.bincount(y, minlength=len(T_c)), priors
    counts = labels if counts is None else counts
    priors = transition.clean_priors(T_c, labels) if known is None else known
    rows = np.maximum(1, np.rint(priors * len(y))).astype(np.int64)  # (c,)
    drawn = (rng.multinomial(rows, _exact(T_c)) / rows[:, None] for _ in range(_replicates(len(T_c))))
    spread = redraws.spread(redraws.quantities(T, counts, known) for T in drawn)
    found = redraws.quantities(T_c, counts, known)
    ends = Range(found - proportions.Z * spread, found + proportions.Z * spread)
    return _shaped("sampling", ends, T_c, labels, counts)


def _exact(T_c: transition.Matrix) -> transition.Matrix:
    """Rows whose sums pass for one in a draw."""
    exact: transition.Matrix = T_c / T_c.sum(axis=1, keepdims=True) * (1 - 1e-12)
    return exact


def _replicates(c: int) -> int:
    return max(FEWEST, min(REPLICATES, CELLS // c**2))


def _shaped(
    basis: Basis, found: Range, T_c: transition.Matrix, labels: Counts, told: Counts | None = None
) -> Intervals:
    c, n = len(T_c), int(labels.sum())
    low, high = np.clip(found.low, 0, 1), np.clip(found.high, 0, 1)
    rows = transition.clean_priors(T_c, labels) * n  # (c,)
    least = Range(
        *proportions.wilson(T_c, np.maximum(rows, 1.0)[:, None])
    )  # never empty where nothing was counted
    lower = np.minimum(low[: c * c].reshape(c, c), least.low)
    lower = np.where(lower * rows[:, None] < NOTHING, 0.0, lower)
    matrix = Range(lower, np.maximum(high[: c * c].reshape(c, c), least.high))
    sums = _reached(Range(low[c * c :], high[c * c :]), T_c, labels, labels if told is None else told)
    similarity = Range(sums.low[:4].reshape(2, 2), sums.high[:4].reshape(2, 2))
    least_rates = np.where(sums.low[4:] * n < NOTHING, 0.0, sums.low[4:])
    return Intervals(basis, matrix, similarity, Range(least_rates, sums.high[4:]))


def _reached(sums: Range, T_c: transition.Matrix, labels: Counts, told: Counts) -> Range:
    """T_s and the rates; where hardly a label is wrong they reach as far as the count of wrong ones might."""
    c, n, priors = len(T_c), int(labels.sum()), transition.clean_priors(T_c, labels)
    rate = transition.noise_rates(T_c, priors).class_
    if rate * n >= FEW_WRONG:
        return sums
    further = (float(proportions.wilson(rate, n)[1]) - rate) / (1 - rate)
    spread = (1 - np.eye(c)) / max(1, c - 1)  # the labels that might be wrong, of any other class
    there = redraws.quantities((1 - further) * T_c + further * spread, told)[c * c :]
    return Range(np.minimum(sums.low, there), np.maximum(sums.high, there))
