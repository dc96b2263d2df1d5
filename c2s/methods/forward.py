"""Forward correction: the net predicts clean labels, T carries them to the noisy ones (Patrini et al. 2017)."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from torch import Tensor

from c2s.methods import losses, matrices
from c2s.methods.method import Evidence


@dataclass(frozen=True)
class Forward:
    def targets(self, evidence: Evidence) -> npt.NDArray[np.int64]:
        return evidence.y

    def transition(self, evidence: Evidence) -> matrices.Fixed:
        return matrices.Fixed(evidence.T_c)

    def loss(self, logits: Tensor, targets: Tensor, T: Tensor) -> Tensor:
        return losses.forward(logits, targets, T)
