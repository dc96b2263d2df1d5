"""JoCoR: two nets that are drawn together, on the rows that are easiest for both at once (Wei et al. 2020)."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from torch import Tensor

from c2s.methods import droprates, losses, matrices
from c2s.methods.method import Evidence, drop_rate


@dataclass(frozen=True)
class JoCoR:
    rate: float | None
    ramp: int | None
    exponent: float
    agreement: float

    def targets(self, evidence: Evidence) -> npt.NDArray[np.int64]:
        return evidence.y

    def transition(self, evidence: Evidence) -> matrices.Dropping:
        plan = droprates.Gradual(drop_rate(self.rate, evidence), self.ramp, self.exponent)
        return matrices.Dropping(evidence.T_c, plan)

    def loss(self, logits: Tensor, targets: Tensor, T: Tensor) -> Tensor:
        return losses.jocor(logits, targets, T, agreement=self.agreement)
