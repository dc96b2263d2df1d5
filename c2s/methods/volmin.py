"""Forward with a T learnt jointly with the classifier, of the least volume (Li et al. 2021)."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from c2s.methods import losses, matrices
from c2s.methods.method import Evidence


@dataclass(frozen=True)
class VolMin:
    learning_rate: float
    volume: float

    def targets(self, evidence: Evidence) -> npt.NDArray[np.int64]:
        return evidence.y

    def transition(self, evidence: Evidence) -> matrices.Learnt:
        return matrices.Learnt(evidence.classes, learning_rate=self.learning_rate)

    def loss(self, logits: Tensor, targets: Tensor, T: Tensor) -> Tensor:
        volume: Tensor = torch.linalg.slogdet(T).logabsdet
        return losses.forward(logits, targets, T) + self.volume * volume
