"""Co-teaching: two nets, each updated on the rows that the other finds easiest (Han et al. 2018)."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from torch import Tensor

from c2s.methods import droprates, losses, matrices
from c2s.methods.method import Evidence, drop_rate


@dataclass(frozen=True)
class CoTeaching:
    rate: float | None
    ramp: int | None
    exponent: float

    def targets(self, evidence: Evidence) -> npt.NDArray[np.int64]:
        return evidence.y

    def transition(self, evidence: Evidence) -> matrices.Dropping:
        plan = droprates.Gradual(drop_rate(self.rate, evidence), self.ramp, self.exponent)
        return matrices.Dropping(evidence.T_c, plan)

    def loss(self, logits: Tensor, targets: Tensor, T: Tensor) -> Tensor:
        return losses.co_teaching(logits, targets, T)
