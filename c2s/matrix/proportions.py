"""Shares that were counted among rows: their 95 % interval, and how many more rows would halve it."""

from typing import Any

import numpy as np

Z = 1.959964  # of a two-sided 95 % interval
HALVING = 4  # times the rows halve an interval


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
