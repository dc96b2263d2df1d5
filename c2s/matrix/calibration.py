"""Probabilities that are honest about clean labels, though only noisy ones are at hand.

A temperature t turns the posterior f into softmax(log f / t). It is fitted by the likelihood of the noisy labels under
T_c^T f, so that the noise is accounted for once, by T_c; a prior keeps few rows from making it extreme. How far
confidence and accuracy are apart is estimated through T_c as well: where row i is given class k, the entry [noisy
label, k] of the inverse of T_c is, on average over the noise, 1 if k is its clean class and 0 if not.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from c2s.matrix.transition import Matrix

SEARCHED = (0.05, 20.0)  # temperatures
PRIOR = math.log(2)  # the deviation of log t: a factor of two, either way
COARSE, FINE = 61, 40  # of the grid; of the golden sections beside its best
CLEARLY = 1.645  # standard errors of the gain in likelihood: below, a temperature is chance
BINS, BIN_ROWS = 10, 50  # of confidence; fewer where the rows are few
FLOOR = 1e-12  # of a probability
Probabilities = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Calibration:
    """A temperature and what it did on the rows that it was fitted on; 1: the posterior is left as it is."""

    temperature: float
    rows: int
    nll: tuple[float, float]  # of the noisy labels, before and after
    ece: tuple[float, float]  # expected calibration error for clean labels, by T_c, before and after

    def plain(self) -> dict[str, Any]:
        """As the card tells it."""
        pairs = {"nll": self.nll, "ece": self.ece}
        told = {name: {"before": before, "after": after} for name, (before, after) in pairs.items()}
        return {"temperature": self.temperature, "rows": self.rows, **told}


def fit(f: Probabilities, y: Labels, T_c: Matrix) -> Calibration:
    """The temperature under which noisy labels are likeliest, if it is clearly better than none."""
    temperature = _best(f, y, T_c) if len(f) > 1 else 1.0
    gain = _losses(f, y, T_c) - _losses(tempered(f, temperature), y, T_c)  # (n,)
    if len(f) < 2 or gain.mean() <= CLEARLY * gain.std() / math.sqrt(len(f)):
        temperature = 1.0
    after = tempered(f, temperature)
    return Calibration(
        temperature,
        len(f),
        (_mean(_losses(f, y, T_c)), _mean(_losses(after, y, T_c))),
        (error(f, right_through(f, y, T_c)), error(after, right_through(after, y, T_c))),
    )


def tempered(f: Probabilities, temperature: float) -> Probabilities:
    """softmax(log f / t)."""
    if temperature == 1:
        return f
    logs = np.log(np.maximum(f, FLOOR**4)) / temperature
    powers = np.exp(logs - logs.max(axis=1, keepdims=True))
    found: Probabilities = powers / powers.sum(axis=1, keepdims=True)
    return found


def right_through(f: Probabilities, y: Labels, T_c: Matrix) -> Probabilities:
    """A value a row whose mean over the noise is 1 where the likeliest class is the clean one and 0 elsewhere."""
    inverse = np.linalg.pinv(T_c)
    values: Probabilities = inverse[y, f.argmax(axis=1)]
    return values


def error(f: Probabilities, right: npt.NDArray[np.float64] | npt.NDArray[np.bool_]) -> float:
    """Expected calibration error: |confidence - accuracy| in bins of as many rows each, weighted by them."""
    if len(f) == 0:
        return 0.0
    confidence = f.max(axis=1)
    bins = int(np.clip(len(f) // BIN_ROWS, 1, BINS))
    gaps = [
        len(rows) * abs(confidence[rows].mean() - np.clip(right[rows].mean(), 0, 1))
        for rows in np.array_split(np.argsort(confidence, kind="stable"), bins)
    ]
    return float(sum(gaps) / len(f))


def _losses(f: Probabilities, y: Labels, T_c: Matrix) -> npt.NDArray[np.float64]:
    likelihood = np.einsum("nc,cn->n", f, T_c[:, y])  # P(noisy label of the row)
    losses: npt.NDArray[np.float64] = -np.log(np.maximum(likelihood, FLOOR))
    return losses


def _mean(losses: npt.NDArray[np.float64]) -> float:
    return float(losses.mean()) if len(losses) else 0.0


def _best(f: Probabilities, y: Labels, T_c: Matrix) -> float:
    """A grid for the valley, golden sections for its bottom."""

    def height(log_t: float) -> float:
        unlikely = (log_t / PRIOR) ** 2 / 2 / len(f)
        return _mean(_losses(tempered(f, math.exp(log_t)), y, T_c)) + unlikely

    grid = np.linspace(math.log(SEARCHED[0]), math.log(SEARCHED[1]), COARSE)
    lowest = int(np.argmin([height(point) for point in grid]))
    left, right = grid[max(0, lowest - 1)], grid[min(COARSE - 1, lowest + 1)]
    section = (math.sqrt(5) - 1) / 2
    for _ in range(FINE):
        low, high = right - section * (right - left), left + section * (right - left)
        left, right = (left, high) if height(low) < height(high) else (low, right)
    return math.exp((left + right) / 2)
