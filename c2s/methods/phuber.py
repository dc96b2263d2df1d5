"""PHuber-CE: cross-entropy of which no row pulls harder than tau (Menon et al. 2020)."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from torch import Tensor

from c2s.methods import losses, matrices
from c2s.methods.method import Evidence


@dataclass(frozen=True)
class PHuber:
    tau: float

    def targets(self, evidence: Evidence) -> npt.NDArray[np.int64]:
        return evidence.y

    def transition(self, evidence: Evidence) -> matrices.Fixed:
        return matrices.Fixed(evidence.T_c)

    def loss(self, logits: Tensor, targets: Tensor, T: Tensor) -> Tensor:
        return losses.phuber(logits, targets, tau=self.tau)
