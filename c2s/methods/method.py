"""A method is three answers and no state: what each row teaches, which matrix the loss sees, and the loss."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
from torch import Tensor

from c2s.config import Correction
from c2s.matrix import transition
from c2s.methods import droprates
from c2s.methods.matrices import Matrix, TransitionModule

# Where T_s departs from T T^T by more than this for some pair of classes it averages unlike classes together:
# symmetric noise 0, the paper's asymmetric 0.6 0.08, pair flip 0.45 0.19, human CIFAR-10N 0.24.
EXACT_ABOVE = 0.1
LEFT_OUT = -1  # the target of a row that a method does not train on


@dataclass(frozen=True)
class Evidence:
    """What stage 1 found out about the labels."""

    y: npt.NDArray[np.int64]  # (n,)   noisy labels
    T_c: Matrix  # (c, c)
    priors: npt.NDArray[np.float64]  # (c,)   clean
    suspects: npt.NDArray[np.bool_]  # (n,)   rows whose label the confident joint finds wrong

    @property
    def classes(self) -> int:
        return len(self.T_c)


class Method(Protocol):
    def targets(self, evidence: Evidence) -> npt.NDArray[np.int64]:
        """The label each row is trained with, `LEFT_OUT` for none."""

    def transition(self, evidence: Evidence) -> TransitionModule:
        """The matrix the loss sees, as a module that may learn it."""

    def loss(self, logits: Tensor, targets: Tensor, T: Tensor) -> Tensor:
        """The mean loss of a batch; of two nets, whose logits come as (2, b, c), the sum of both."""


def unsuspected(evidence: Evidence) -> npt.NDArray[np.int64]:
    """Labels without the suspects."""
    return np.where(evidence.suspects, LEFT_OUT, evidence.y)


def of_every_class(
    targets: npt.NDArray[np.int64], y: npt.NDArray[np.int64], rows: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """The same targets, but a class that would lose all of these rows keeps them."""
    left = y[rows[targets[rows] != LEFT_OUT]]
    lost = rows[~np.isin(y[rows], left)]
    found = targets.copy()
    found[lost] = y[lost]
    return found


def is_exact(correction: Correction, T_c: Matrix, priors: npt.NDArray[np.float64]) -> bool:
    """Whether a pair loss sees T T^T; `auto` does where T_s averages unlike classes together."""
    if correction == "auto":
        return transition.averaging_error(T_c, priors) > EXACT_ABOVE
    return correction == "exact"


def pair_form(correction: Correction, evidence: Evidence) -> Matrix:
    """P(noisy similar | clean classes): the paper's T_s, or the exact T T^T."""
    if is_exact(correction, evidence.T_c, evidence.priors):
        return transition.exact_form(evidence.T_c)
    T_s = transition.similarity_from_class(evidence.T_c, evidence.priors)
    return transition.averaged_form(T_s, evidence.classes)


def hides_pairs(correction: Correction, evidence: Evidence) -> bool:
    """Pairs under the averaged correction teach nothing where T_s11 does not exceed T_s01."""
    if is_exact(correction, evidence.T_c, evidence.priors):
        return False
    T_s = transition.similarity_from_class(evidence.T_c, evidence.priors)
    return bool(T_s[1, 1] - T_s[0, 1] <= transition.HIDDEN_GAP)


def are_faint(evidence: Evidence) -> bool:
    """Whether pairs are so noisy that their loss wants a companion that names classes (tests/bench/collapse.py)."""
    T_s = transition.similarity_from_class(evidence.T_c, evidence.priors)
    return bool(T_s[1, 1] - T_s[0, 1] < transition.WEAK_GAP)


def drop_rate(declared: float | None, evidence: Evidence) -> float:
    """The share of rows that selection leaves out: as declared, or as many as T finds wrong."""
    found = transition.noise_rates(evidence.T_c, evidence.priors).class_
    return droprates.clipped(found if declared is None else declared)
