"""The noise report: what the posteriors of a run say about its labels, gathered; pure, and without torch.

The parts have files of their own: `intervals` (how far T_c may be off), `advice` (which method suits it), `issues`
(which labels are wrong).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from c2s import config, streams
from c2s.judging import issues
from c2s.matrix import estimation, intervals, redraws, refinement, transition

LAST = 1e-9  # below it two rates are the same


@dataclass(frozen=True, eq=False)
class Seen:
    """What stage 1 has seen of the labels: a noisy-class posterior for every row, and how it came about."""

    posterior: estimation.Posterior  # (n, c)
    y: estimation.Labels  # (n,)
    chosen: config.Estimate | config.Given
    folds: NDArray[np.int64] | None  # (n,)  -1 for rows held out; None where one net judged all
    seed: int

    @property
    def held_out_only(self) -> bool:
        """Whether T_c was read off the rows held out alone."""
        return isinstance(self.chosen, config.Estimate) and self.chosen.posteriors == "validation"

    def only(self, rows: NDArray[np.int64]) -> Self:
        """The same of some rows."""
        folds = None if self.folds is None else self.folds[rows]
        return replace(self, posterior=self.posterior[rows], y=self.y[rows], folds=folds)


def fit_of(
    estimator: str, seen: Seen, *, counts: redraws.Counts, refined: refinement.Refined | None = None
) -> intervals.Fit | None:
    """What intervals of any T_c of this run stand around; None with too many classes to fit, or a T that was given.

    T_s and the rates are told by `counts`, those of the whole dataset's labels. With a T that is given no rows are
    judged by nets that have not seen them, and labels learnt by heart look right.
    """
    if isinstance(seen.chosen, config.Given) or seen.posterior.shape[1] > intervals.CLASSES:
        return None
    return intervals.fit(
        seen.posterior,
        seen.y,
        estimate=_reader(estimator, seen.chosen) or intervals.confident,
        folds=seen.folds,
        counts=counts,
        refined=refined,
        rng=streams.numpy(seen.seed, "intervals"),
    )


def intervals_of(
    estimator: str,
    T_c: transition.Matrix,
    seen: Seen,
    *,
    fitted: intervals.Fit | None,
    priors: transition.Vector | None,
    counts: redraws.Counts,
) -> intervals.Intervals | None:
    """95 % intervals of the chosen T_c; none where it was given; `priors` if its estimator found some."""
    if estimator == "given":
        return None
    if fitted is not None:
        return fitted.around(T_c, priors)
    rng = streams.numpy(seen.seed, "intervals")
    reader = _reader(estimator, seen.chosen)
    if reader is None or estimator == "refined":  # which would be fitted once a draw
        return intervals.sampled(T_c, seen.y, priors=priors, counts=counts, rng=rng)
    return intervals.resampled(reader, seen.posterior, seen.y, folds=seen.folds, counts=counts, rng=rng)


def _reader(estimator: str, chosen: config.Estimate | config.Given) -> redraws.Estimator | None:
    """The estimator as a function of posteriors and labels, if it is one."""
    percentile = chosen.percentile if isinstance(chosen, config.Estimate) else 97.0
    match estimator:
        case "confident-joint":
            return intervals.confident
        case "anchors":
            return lambda P, y: estimation.anchors(P, percentile).T
        case "mean-posterior":
            return lambda P, y: estimation.mean_posterior(P).T
        case "refined":
            return lambda P, y: refinement.refine(P, y).T
        case "dual-t":
            return lambda P, y: estimation.dual_t(P, y, percentile).T
    return None


def edge_notes(
    bounds: intervals.Intervals | None,
    rate: float,
    alternatives: dict[str, transition.Matrix],
    y: estimation.Labels,
    *,
    read_off: bool,
) -> list[str]:
    """Why a noise rate stands at an end of its interval, where that end is neither 0 nor 1.

    `read_off`: the matrix is one of stage 1's posteriors, whose errors it shares.
    """
    if bounds is None or (refined := alternatives.get("refined")) is None:
        return []
    low, high = float(bounds.rates.low[0]), float(bounds.rates.high[0])
    if low + LAST < rate < high - LAST or not 0 < rate < 1:
        return []
    priors = transition.clean_priors(refined, np.bincount(y, minlength=len(refined)))
    nearer = transition.noise_rates(refined, priors).class_
    upper = rate >= high - LAST
    where = f"The noise rate, {rate:.1%}, stands at the {'upper' if upper else 'lower'} end of its interval"
    stands = f"about {nearer:.1%} (refined among the alternatives), which the interval stands around."
    if not read_off:
        told = "it was not read off stage 1's posteriors. By them it is"
        return [f"{where}, {low:.1%} to {high:.1%}: {told} {stands}"]
    why = "errors of stage 1 for wrong labels" if upper else "some wrong labels for right ones"
    return [
        f"{where}, {low:.1%} to {high:.1%}: its estimator takes {why}. With the two told apart it is {stands}"
    ]


def judge(
    T_c: transition.Matrix,
    seen: Seen,
    *,
    witness: transition.Matrix,
    explained: bool,
    unknown: Sequence[int] = (),
) -> issues.Judged:
    """Every label judged; `witness` is T_c as far as its rows carry it, `explained` noise that the rows explain."""
    P, y = seen.posterior, seen.y
    return issues.judge(P, y, T_c, witness=witness, explained=explained, unknown=unknown)
