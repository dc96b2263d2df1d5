"""T-Revision: Reweight whose T is revised by gradient through the weights, after a plain Reweight (Xia 2019)."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from torch import Tensor

from c2s.methods import losses, matrices
from c2s.methods.method import Evidence


@dataclass(frozen=True)
class Revision:
    max_weight: float
    learning_rate: float

    def targets(self, evidence: Evidence) -> npt.NDArray[np.int64]:
        return evidence.y

    def transition(self, evidence: Evidence) -> matrices.Revised:
        return matrices.Revised(evidence.T_c, learning_rate=self.learning_rate)

    def loss(self, logits: Tensor, targets: Tensor, T: Tensor) -> Tensor:
        return losses.revision(logits, targets, T, max_weight=self.max_weight)
