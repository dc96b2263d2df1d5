"""Whether label noise depends on the class alone, as every T_c supposes.

If it does, then among rows that surely are of one class the given label is a draw from that class's row of T_c,
whatever the row looks like: the posterior, which only sees the row, cannot tell those with the class's own label from
the others. Where labels were made by rules, or rows are mislabelled because of what they show, it can. The same is seen
where stage 1 mixes classes up, and there too no figure that rests on T_c can be trusted.
"""

from typing import NamedTuple

import numpy as np

from c2s.matrix import estimation, transition

FEWEST = 20  # rows of a class that say anything
SLOPE, CLEARLY = 0.6, 3.0  # of labels on the posterior (1: the row explains all of it), and standard errors
ABOVE = 1.645  # standard errors of an agreement over its ceiling


class Dependence(NamedTuple):
    """The slope of own labels on the posterior among sure rows, its standard errors from 0, and the verdict."""

    slope: float
    deviations: float
    found: bool
    reasons: tuple[str, ...]


def ceiling(T_c: transition.Matrix, priors: transition.Vector) -> float:
    """The most that any classifier can agree with noisy labels, if their noise depends on the class alone."""
    return float(transition.shares(priors, len(T_c)) @ T_c.max(axis=1))


def examine(P: estimation.Posterior, y: estimation.Labels, T_c: transition.Matrix) -> Dependence:
    """Look for noise that the rows explain, in out-of-sample posteriors."""
    x, own = _sure(P, y)
    spread = float(np.square(x).sum())
    slope = float((x * own).sum()) / spread if spread > 0 else 0.0
    error = float(np.sqrt(np.square(x * own).sum()))
    deviations = float((x * own).sum()) / error if error > 0 else 0.0
    reasons = []
    if slope > SLOPE and deviations > CLEARLY:
        reasons.append(
            f"Among rows that surely are of one class, the row itself tells which carry another label (slope"
            f" {slope:.2f}, {deviations:.1f} standard errors): the labels look rule-made or input-dependent, or"
            " stage 1 mixes classes up."
        )
    agreed = float((P.argmax(axis=1) == y).mean())
    most = ceiling(T_c, transition.clean_priors(T_c, np.bincount(y, minlength=len(T_c))))
    chance = np.sqrt(
        2 * most * (1 - most) / len(y)
    )  # of the agreement, and of a ceiling counted from as many rows
    if agreed - most > ABOVE * chance:
        reasons.append(
            f"Rows that were not trained on agree with {agreed:.1%} of the labels, more than the {most:.1%} that"
            " noise of this matrix allows: it depends on more than the class."
        )
    return Dependence(slope, deviations, bool(reasons), tuple(reasons))


def _sure(P: estimation.Posterior, y: estimation.Labels) -> tuple[transition.Vector, transition.Vector]:
    """Posterior of the class and whether the label is its own, both centred, of the surer half of each class."""
    joint = estimation.confident_joint(P, y)
    sides: list[tuple[transition.Vector, transition.Vector]] = []
    for k in range(P.shape[1]):
        rows = np.flatnonzero(joint.counted & (joint.likely == k))
        if len(rows) >= FEWEST:
            rows = rows[P[rows, k] >= np.median(P[rows, k])]
            x, own = P[rows, k].astype(np.float64), (y[rows] == k).astype(np.float64)
            sides.append((x - x.mean(), own - own.mean()))
    empty = np.zeros(0)
    return np.concatenate([empty, *(x for x, _ in sides)]), np.concatenate([empty, *(o for _, o in sides)])
