"""F-Class2Simi: Forward on pairs, the similarity transition matrix in the place of T (the paper)."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from torch import Tensor

from c2s import losses, matrices
from c2s.config import Correction
from c2s.methods.method import Evidence, pair_form


@dataclass(frozen=True)
class ForwardSimi:
    correction: Correction
    diagonal: float

    def targets(self, evidence: Evidence) -> npt.NDArray[np.int64]:
        return evidence.y

    def transition(self, evidence: Evidence) -> matrices.Fixed:
        return matrices.Fixed(evidence.T_c, pair_form(self.correction, evidence))

    def loss(self, logits: Tensor, targets: Tensor, T: Tensor) -> Tensor:
        return losses.forward_pairs(logits, targets, T, diagonal=self.diagonal)
