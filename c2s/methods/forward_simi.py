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
    forward: float = 0.0

    def targets(self, evidence: Evidence) -> npt.NDArray[np.int64]:
        return evidence.y

    def transition(self, evidence: Evidence) -> matrices.Fixed:
        form = np.stack([pair_form(self.correction, evidence), evidence.T_c])  # (2, c, c)
        return matrices.Fixed(evidence.T_c, form if self.forward else form[0])

    def loss(self, logits: Tensor, targets: Tensor, T: Tensor) -> Tensor:
        if not self.forward:
            return losses.forward_pairs(logits, targets, T, diagonal=self.diagonal)
        pairs = losses.forward_pairs(logits, targets, T[0], diagonal=self.diagonal)
        # a mean over B^2 pairs pulls a logit about B / 2 times less than a mean over B rows
        return pairs + self.forward * 2 / len(targets) * losses.forward(logits, targets, T[1])
