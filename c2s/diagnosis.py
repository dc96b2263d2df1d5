"""The noise report: what the posteriors of a run say about its labels, gathered; pure, and without torch.

The parts have files of their own: `intervals` (how far T_c may be off), `advice` (which method suits it), `issues`
(which labels are wrong).
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from c2s import config, estimation, intervals, issues, refinement, streams, transition


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


def intervals_of(
    estimator: str, T_c: transition.Matrix, seen: Seen, *, refined: refinement.Refined | None = None
) -> intervals.Intervals | None:
    """95 % intervals of the chosen T_c: by resampling where it was read off posteriors; none where it was given."""
    if estimator == "given":
        return None
    rng = streams.numpy(seen.seed, "intervals")
    reader = _reader(estimator, seen.chosen)
    too_large = estimator == "refined" and len(T_c) > intervals.CLASSES  # to be fitted once a draw
    if reader is None or too_large:
        return intervals.sampled(T_c, seen.y, rng=rng)
    return intervals.resampled(reader, seen.posterior, seen.y, folds=seen.folds, refined=refined, rng=rng)


def _reader(estimator: str, chosen: config.Estimate | config.Given) -> intervals.Estimator | None:
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


def judge(T_c: transition.Matrix, seen: Seen) -> tuple[issues.Judged, bool]:
    """Every label judged, and whether T_c was trusted with the order."""
    trusted = issues.trusts(seen.posterior, seen.y)
    return issues.judge(seen.posterior, seen.y, T_c, trusted=trusted), trusted
