"""F-Class2Simi: Forward on pairs, the similarity transition matrix in the place of T (the paper)."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from torch import Tensor

from c2s.config import Correction
from c2s.methods import losses, matrices
from c2s.methods.method import Evidence, are_faint, pair_form


@dataclass(frozen=True)
class ForwardSimi:
    correction: Correction
    diagonal: float
    forward: float | None = None

    def targets(self, evidence: Evidence) -> npt.NDArray[np.int64]:
        return evidence.y

    def transition(self, evidence: Evidence) -> matrices.Fixed:
        form = pair_form(self.correction, evidence)
        beside = are_faint(evidence) if self.forward is None else self.forward > 0
        return matrices.Fixed(evidence.T_c, np.stack([form, evidence.T_c]) if beside else form)

    def loss(self, logits: Tensor, targets: Tensor, T: Tensor) -> Tensor:
        if T.ndim == 2:
            return losses.forward_pairs(logits, targets, T, diagonal=self.diagonal)
        weight = 1.0 if self.forward is None else self.forward
        pairs = losses.forward_pairs(logits, targets, T[0], diagonal=self.diagonal)
        # a mean over B^2 pairs pulls a logit about B / 2 times less than a mean over B rows
        return pairs + weight * 2 / len(targets) * losses.forward(logits, targets, T[1])
