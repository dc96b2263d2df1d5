"""R-Class2Simi: Reweight on pairs, with the weight outside the logarithm (the paper, Appendix D)."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from torch import Tensor

from c2s.config import Correction
from c2s.methods import losses, matrices
from c2s.methods.method import Evidence, pair_form


@dataclass(frozen=True)
class ReweightSimi:
    correction: Correction
    diagonal: float
    max_weight: float

    def targets(self, evidence: Evidence) -> npt.NDArray[np.int64]:
        return evidence.y

    def transition(self, evidence: Evidence) -> matrices.Fixed:
        return matrices.Fixed(evidence.T_c, pair_form(self.correction, evidence))

    def loss(self, logits: Tensor, targets: Tensor, T: Tensor) -> Tensor:
        return losses.reweight_pairs(logits, targets, T, diagonal=self.diagonal, max_weight=self.max_weight)
