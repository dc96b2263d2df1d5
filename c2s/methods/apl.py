"""Active-passive loss: normalised cross-entropy with a bounded loss beside it (Ma et al. 2020)."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from torch import Tensor

from c2s.methods import losses, matrices
from c2s.methods.method import Evidence


@dataclass(frozen=True)
class Apl:
    passive: Literal["rce", "mae"]
    alpha: float
    beta: float

    def targets(self, evidence: Evidence) -> npt.NDArray[np.int64]:
        return evidence.y

    def transition(self, evidence: Evidence) -> matrices.Fixed:
        return matrices.Fixed(evidence.T_c)

    def loss(self, logits: Tensor, targets: Tensor, T: Tensor) -> Tensor:
        return losses.apl(logits, targets, passive=self.passive, alpha=self.alpha, beta=self.beta)
