"""S2E: Co-teaching with a drop rate that follows a searched curve (Yao et al. 2020)."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from torch import Tensor

from c2s.methods import droprates, losses, matrices
from c2s.methods.method import Evidence


@dataclass(frozen=True)
class S2E:
    plan: droprates.Searched

    def targets(self, evidence: Evidence) -> npt.NDArray[np.int64]:
        return evidence.y

    def transition(self, evidence: Evidence) -> matrices.Dropping:
        return matrices.Dropping(evidence.T_c, self.plan)

    def loss(self, logits: Tensor, targets: Tensor, T: Tensor) -> Tensor:
        return losses.co_teaching(logits, targets, T)
