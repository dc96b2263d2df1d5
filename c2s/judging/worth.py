"""What a classifier is worth on clean labels, with an interval and never as a bare number.

With gold rows it is counted. Without, three things can be said: how often held-out noisy labels agree, the ceiling that
noise sets to that, and the accuracy that T_c makes of it: where row i is given class k, entry [noisy label, k] of the
inverse of T_c is on average 1 if k is its clean class and 0 if not. The last is right only if the noise depends on the
class alone and T_c is; elsewhere it was 5 to 45 points too high, so it is told only when nothing speaks against it.
"""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from c2s.matrix import dependence, estimation, intervals, proportions, transition

WELL_CONDITIONED = 20.0
DRAWS = 50  # of T_c inside its interval


class Share(NamedTuple):
    """An estimated share with its 95 % interval and the rows that it rests on."""

    value: float
    low: float
    high: float
    rows: int


def share(right: int, rows: int) -> Share:
    """A counted share with Wilson's interval."""
    low, high = proportions.wilson(right / rows, rows)
    return Share(right / rows, float(low), float(high), rows)


@dataclass(frozen=True)
class Worth:
    """What is known of the classifier; `clean` is None where it cannot be trusted, and `withheld` says why."""

    agreement: Share  # with noisy labels of rows held out
    ceiling: float  # of that agreement
    clean: Share | None  # accuracy on clean labels, through T_c
    withheld: tuple[str, ...]
    gold: Share | None = None
    more_gold: int | None = (
        None  # further rows to look at that would halve the interval; None: there are not so many
    )
    gold_words: str | None = None  # what can be had then

    def plain(self) -> dict[str, Any]:
        """As a report tells it."""
        shares = {name: getattr(self, name) for name in ("agreement", "clean", "gold")}
        told = {name: None if found is None else found._asdict() for name, found in shares.items()}
        more = {"more_gold": self.more_gold, "gold_words": self.gold_words}
        return {**told, "ceiling": self.ceiling, "withheld": list(self.withheld), **more}


def appraise(
    predicted: estimation.Labels,
    y: estimation.Labels,
    T_c: transition.Matrix,
    *,
    bounds: intervals.Intervals | None,
    against: tuple[str, ...],
    rng: np.random.Generator,
) -> Worth:
    """Of predictions for rows held out; `against` is what speaks against T_c already."""
    counts = np.bincount(y, minlength=len(T_c))
    most = dependence.ceiling(T_c, transition.clean_priors(T_c, counts))
    agreed = share(int((predicted == y).sum()), len(y))
    found = through_inverse(predicted, y, T_c, bounds=bounds, rng=rng)
    reasons = [*against]
    if found is None:
        reasons.append("T_c is singular or nearly so: its inverse magnifies every error.")
    elif found.low > 1:
        reasons.append(
            f"Through T_c the accuracy would be {found.value:.1%}: T_c or its assumption is wrong."
        )
    fine = found is not None and not reasons
    clean = found._replace(**_inside(found)) if found is not None and fine else None
    return Worth(agreed, most, clean, tuple(reasons))


def _inside(found: Share) -> dict[str, Any]:
    ends = {name: getattr(found, name) for name in ("value", "low", "high")}
    return {name: min(1.0, max(0.0, end)) for name, end in ends.items()}


def through_inverse(
    predicted: estimation.Labels,
    y: estimation.Labels,
    T_c: transition.Matrix,
    *,
    bounds: intervals.Intervals | None,
    rng: np.random.Generator,
) -> Share | None:
    """Accuracy on clean labels by the inverse of T_c, its interval of the rows' chance and T_c's; None: not to be had.

    That is so where T_c, or every matrix that it might be as well, has no inverse to speak of.
    """
    if np.linalg.cond(T_c) > WELL_CONDITIONED:
        return None
    scores = np.linalg.inv(T_c)[y, predicted]  # (n,)
    variance = float(scores.var()) / len(y)
    if bounds is not None:
        drawn = [np.linalg.inv(T)[y, predicted].mean() for T in _draws(T_c, bounds, rng)]
        if not drawn:
            return None
        variance += float(np.var(drawn))
    value, half = float(scores.mean()), proportions.Z * float(np.sqrt(variance))
    agreed = float((predicted == y).mean())
    low, high = proportions.wilson(
        agreed, len(y)
    )  # the inverse magnifies chance: it is never surer than a count
    return Share(value, value - max(half, agreed - low), value + max(half, high - agreed), len(y))


def _draws(
    T_c: transition.Matrix, bounds: intervals.Intervals, rng: np.random.Generator
) -> Iterator[transition.Matrix]:
    """Matrices that T_c might be as well, one at a time, and of these the ones with an inverse."""
    spread = (bounds.matrix.high - bounds.matrix.low) / (2 * proportions.Z)
    for _ in range(DRAWS):
        drawn = np.maximum(T_c + spread * rng.standard_normal(T_c.shape), 0)  # (c, c)
        total = drawn.sum(axis=1, keepdims=True)
        T = np.where(total > 0, drawn / np.where(total > 0, total, 1), T_c)  # nothing left: as it was
        if np.linalg.cond(T) <= WELL_CONDITIONED:
            yield T


def counted(worth: Worth, predicted: estimation.Labels, gold: estimation.Labels) -> Worth:
    """The same with the gold ones of the rows held out, which need no T_c; the others (-1) are left to look at."""
    known = gold >= 0
    if not known.any():
        return worth
    found = share(int((predicted == gold)[known].sum()), int(known.sum()))
    more, words = proportions.halving(found.rows, len(gold))
    worth = dataclasses.replace(worth, gold=found, more_gold=more, gold_words=words)
    if worth.clean is None or worth.clean.low <= found.high:
        return worth
    reason = (
        f"Through T_c the accuracy would be {worth.clean.value:.1%}, and on the gold rows it is {found.value:.1%}:"
        " T_c or its assumption is wrong, or the gold rows were chosen for being doubtful."
    )
    return dataclasses.replace(worth, clean=None, withheld=(*worth.withheld, reason))
