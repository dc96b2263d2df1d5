"""Which share of a batch is left out as wrong, epoch by epoch: a ramp up to a rate, or a curve that is searched.

Rates stay in [0, 0.99]. Epochs count from 0. A searched curve has the twelve parameters of Yao et al. 2020.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

MOST = 0.99
RAMP = 10  # epochs, the authors' of Co-teaching
# upper ends of the searched parameters; all begin at 0
REACH = np.array([1, 1, 0.5, 1, 0.5, 2, 0.5, 1, 1, 0.5, 0.5, 2])  # (12,)
Parameters = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Moment:
    """Where a phase stands: in epoch `epoch` of `epochs`."""

    epoch: int
    epochs: int


START = Moment(0, 1)


@dataclass(frozen=True)
class Gradual:
    """From nothing, in equal steps over `ramp` epochs, to rate ** exponent, and then the rate (Han et al. 2018)."""

    rate: float
    ramp: int | None = None  # None: the authors' 10, or half of a shorter phase
    exponent: float = 1.0

    def at(self, moment: Moment) -> float:
        ramp = self.ramp or max(1, min(RAMP, moment.epochs // 2))
        if moment.epoch >= ramp:
            return clipped(self.rate)
        return clipped(self.rate**self.exponent * moment.epoch / max(1, ramp - 1))


@dataclass(frozen=True)
class Searched:
    """A curve of twelve parameters over `horizon` epochs; a shorter phase runs through all of it, faster."""

    curve: tuple[float, ...]
    horizon: int

    def at(self, moment: Moment) -> float:
        return clipped(searched(self.curve, moment.epoch * self.horizon / moment.epochs, self.horizon))


Plan = Gradual | Searched


def searched(curve: tuple[float, ...], t: float, horizon: int) -> float:
    """R(t) of Yao et al. 2020, before it is clipped: three saturating curves mixed, less two that grow."""
    a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11 = curve
    rise = a0 * (1 - math.exp(-a2 * t**a1))
    rise += (1 - a0) * a7 * (1 - (a4 * t + 1) ** -a3)
    if a9 * t > 0:
        rise += (1 - a0) * (1 - a7) * (1 - math.log(1 + a8) / math.log(1 + a8 + a9 * t))
    fall = a6 * (t / horizon) ** a5 + a10 * math.log(1 + t**a11) / math.log(1 + horizon**a11)
    return float(rise - (fall if t > 0 else 0.0))


def clipped(rate: float) -> float:
    """A rate that leaves something to train on."""
    return min(max(rate, 0.0), MOST)


def ignorance() -> Parameters:
    """What is believed of the parameters before any was tried: Beta(1, 1) of each."""
    return np.ones((2, len(REACH)))


def sample(belief: Parameters, count: int, rng: np.random.Generator) -> list[tuple[float, ...]]:
    """Curves drawn from the Betas of a belief (2, 12)."""
    drawn = rng.beta(belief[0], belief[1], size=(count, len(REACH))) * REACH  # (count, 12)
    return [tuple(map(float, row)) for row in drawn]


def learnt(belief: Parameters, elite: list[tuple[float, ...]]) -> Parameters:
    """The belief after the best curves of a generation: each counts as one toss of every parameter's coin."""
    share = np.array(elite) / REACH  # (k, 12)
    moved: Parameters = belief + np.stack([share.sum(0), (1 - share).sum(0)])
    return moved
