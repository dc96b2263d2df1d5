"""One accuracy of rows that were asked for and of gold rows that the dataset came with, each row once.

Rows asked for are a fair sample of all that are not gold (`gold`). How gold rows were chosen only their user knows:
often they are the suspicious ones. As a part of the data of their own they count for the share of all rows that they
are, which is right however they were chosen and takes little from many of them. Said to be drawn at random they are a
sample of all rows as well, and count by how much they tell; unless the two differ by more than chance, which denies it.
"""

import bisect
from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import Literal, NamedTuple

from c2s.judging import gold
from c2s.judging.worth import Share
from c2s.matrix import proportions

DENIED = 2.576  # standard errors: two-sided 99 %
HALF = 0.5  # of an interval
How = Literal["share", "random"]


class Marked(NamedTuple):
    """What gold rows of the dataset that were held out tell, and the share of all its rows that is gold."""

    found: Share
    share: float


@dataclass(frozen=True)
class Pooled:
    """The one figure with its 95 % interval, how it came about, and what further rows would do."""

    found: Share
    how: How
    words: str
    more: int | None  # further rows, drawn alike, that would halve the interval; None: there are not so many
    further: str | None  # what can be had then


def pool(asked: gold.Counted, marked: Marked, *, random: bool, left: int) -> Pooled:
    """The accuracy on all rows; `random`: gold rows are said to be, `left`: rows that may still be asked for."""
    apart = abs(asked.value - marked.found.value) / sqrt(
        _variance(asked.value, asked.alike) + _variance(marked.found.value, marked.found.rows)
    )
    if random and apart <= DENIED:
        return _together(asked, marked.found, left)
    return _by_share(asked, marked, left, denied=random)


def _variance(value: float, rows: float) -> float:
    """Of a share among so many rows: of few rows all may be right, and yet they are not sure to be (Jeffreys)."""
    likely = (value * rows + 0.5) / (rows + 1)
    return likely * (1 - likely) / rows


def _together(asked: gold.Counted, marked: Share, left: int) -> Pooled:
    """Two samples of the same rows, weighed by the rows drawn at random that each is worth."""
    alike = asked.alike + marked.rows
    value = (asked.alike * asked.value + marked.rows * marked.value) / alike

    def narrower(more: int) -> float:
        return sqrt(alike / (asked.alike * (1 + more / asked.rows) + marked.rows))

    words = f"{asked.rows} rows of the list and {marked.rows} gold rows, said to be drawn at random, are one sample."
    return Pooled(_share(value, alike, asked, marked), "random", words, *_further(narrower, left))


def _by_share(asked: gold.Counted, marked: Marked, left: int, *, denied: bool) -> Pooled:
    """Gold rows are a part of the data of their own, and the others the rest of it."""
    found, share = marked
    value = share * found.value + (1 - share) * asked.value
    fixed = share**2 * _variance(found.value, found.rows)
    moving = (1 - share) ** 2 * _variance(asked.value, asked.alike)
    middle = (value * asked.alike + 0.5) / (asked.alike + 1)
    alike = middle * (1 - middle) / (fixed + moving)  # rows drawn at random that would tell as much

    def narrower(more: int) -> float:
        return sqrt((fixed + moving / (1 + more / asked.rows)) / (fixed + moving))

    told = f"{found.value:.1%} ({found.low:.1%} to {found.high:.1%})"
    why = (
        f"differ from the others ({asked.value:.1%}) by more than chance and were hardly drawn at random"
        if denied
        else "are not said to be drawn at random"
    )
    words = (
        f"{found.rows} gold rows {why}: they count for the {share:.1%} of all rows that is gold. By themselves they"
        f" tell {told}, which is of such rows alone."
    )
    return Pooled(_share(value, alike, asked, found), "share", words, *_further(narrower, left))


def _share(value: float, alike: float, asked: gold.Counted, marked: Share) -> Share:
    low, high = (float(end) for end in proportions.wilson(value, alike))
    return Share(value, low, high, asked.rows + marked.rows)


def _further(narrower: Callable[[int], float], left: int) -> tuple[int | None, str | None]:
    """Further rows that would halve the interval, or what all that are left would do."""
    if left == 0:
        return None, "No row is left to look at."
    if (least := narrower(left)) > HALF:
        all_left = f"all {left} that are left would make it {least:.2f} as wide"
        return None, f"No further rows would halve the interval: {all_left}."
    return bisect.bisect_left(range(left), True, key=lambda more: narrower(more) <= HALF), None
