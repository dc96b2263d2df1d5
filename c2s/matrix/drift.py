"""Whether two matrices differ by more than chance: two batches of labels, two labelling teams, before and after.

Each entry's difference is measured in standard errors, which the 95 % intervals of both give; the largest decides, with
Bonferroni's factor for having looked at all of them, which holds however entries depend on each other.
"""

import math
from typing import NamedTuple

import numpy as np

from c2s.matrix import transition

Z = 1.959964  # half the width of a 95 % interval in standard errors
LEAST = 1e-6  # standard error of a matrix without an interval: it was given, and is taken as exact
ALPHA = 0.05


class Drift(NamedTuple):
    """b - a, in standard errors as well, and the chance of so large a difference if nothing had changed."""

    difference: transition.Matrix  # (c, c)
    deviations: transition.Matrix  # (c, c)
    distance: float  # mean L1 distance of the rows
    p_value: float

    @property
    def more_than_chance(self) -> bool:
        """Whether chance is an unlikely explanation."""
        return self.p_value < ALPHA


def compare(
    a: transition.Matrix,
    b: transition.Matrix,
    *,
    ends_a: transition.Matrix | None,
    ends_b: transition.Matrix | None,
) -> Drift:
    """Of two matrices over the same classes, with their intervals (c, c, 2) where they have some."""
    error = np.sqrt(np.square(_errors(ends_a, a)) + np.square(_errors(ends_b, b)))  # (c, c)
    difference = b - a
    deviations = difference / np.maximum(error, LEAST)
    tail = math.erfc(float(np.abs(deviations).max()) / math.sqrt(2))
    distance = float(np.abs(difference).sum(axis=1).mean())
    return Drift(difference, deviations, distance, min(1.0, difference.size * tail))


def _errors(ends: transition.Matrix | None, T_c: transition.Matrix) -> transition.Matrix:
    if ends is None:
        return np.zeros_like(T_c)
    width: transition.Matrix = (ends[..., 1] - ends[..., 0]) / (2 * Z)
    return width
