"""Which rows to look at so that a classifier's accuracy is known best, and what the answers say of it.

Rows held out are put in order of how sure the classifier is and cut into strata of equal doubt: many sure rows make
one, few doubtful ones another. Each is drawn from at random and equally often, which is Neyman's allocation as far as
the classifier's own confidence tells; so doubtful rows are asked for more often, and the estimate weighs them back. It
is unbiased however wrong that confidence is. Draws are nested: the first fifty of a hundred are the fifty.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from c2s import streams
from c2s.matrix import proportions

STRATA = 4  # more were no narrower at 60 rows (simulated)
LEAST_DOUBT = 0.15  # standard deviation: a classifier that is sure of everything is still asked everywhere

Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Design:
    """The strata of the rows held out, and the order in which rows are asked for."""

    stratum: Rows  # (n,)
    order: Rows  # (n,)  places of rows, the first to be asked first

    @property
    def shares(self) -> NDArray[np.float64]:
        """Of all rows, those of each stratum (h,)."""
        shares: NDArray[np.float64] = np.bincount(self.stratum) / len(self.stratum)
        return shares


@dataclass(frozen=True)
class Counted:
    """Accuracy by the rows that were looked at, with its 95 % interval."""

    value: float
    low: float
    high: float
    rows: int
    alike: float  # rows drawn at random that would tell as much
    more: int | None  # further rows, drawn alike, that would halve the interval; None: there are not so many
    words: str | None  # what can be had then


def design(confidence: NDArray[np.floating], *, seed: int) -> Design:
    """Strata of equal doubt, and rounds through them: one row of each, then another."""
    p = np.clip(confidence.astype(np.float64), 0, 1)
    doubt = np.maximum(np.sqrt(p * (1 - p)), LEAST_DOUBT)  # (n,)
    sorted_rows = np.argsort(p, kind="stable")
    reached = doubt[sorted_rows].cumsum() / doubt.sum()
    stratum = np.empty(len(p), np.int64)
    stratum[sorted_rows] = np.minimum((reached - 1e-12) * STRATA, STRATA - 1).astype(np.int64)
    stratum = np.unique(stratum, return_inverse=True)[1]  # of very few rows some strata are empty
    shuffled = streams.numpy(seed, "gold").permutation(len(p))
    turn = np.empty(len(p), np.int64)  # the how-manieth of its stratum a row is
    for h in np.unique(stratum):
        members = shuffled[stratum[shuffled] == h]
        turn[members] = np.arange(len(members))
    return Design(stratum, np.lexsort((stratum, turn)))


def estimate(found: Design, rows: Rows, right: NDArray[np.bool_]) -> Counted | None:
    """Accuracy by rows looked at: their places, and where the classifier is right; None if a stratum has none."""
    shares, strata = found.shares, len(found.shares)
    seen = np.bincount(found.stratum[rows], minlength=strata)  # (h,)
    if (seen == 0).any():
        return None
    hits = np.bincount(found.stratum[rows], weights=right, minlength=strata)  # (h,)
    value = float(shares @ (hits / seen))
    # For the spread alone: of few rows all may be right, and yet they are not sure to be (Jeffreys).
    likely = (hits + 0.5) / (seen + 1)  # (h,)
    middle = float(shares @ likely)
    inside = float((shares**2 * likely * (1 - likely) / seen).sum())
    between = float((shares * (likely - middle) ** 2).sum()) / len(found.stratum)
    worth = middle * (1 - middle) / (inside + between)  # rows drawn at random that would tell as much
    low, high = (float(end) for end in proportions.wilson(value, worth))
    return Counted(value, low, high, len(rows), worth, *proportions.halving(len(rows), len(found.stratum)))
