"""The transition matrix during training: fixed, learnt from nothing, revised, or turned into a rate to drop rows by.

Each is a module: calling it with the moment of the phase gives what the method's loss sees, `class_matrix` the T_c
it stands for.
"""

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from c2s.methods.droprates import START, Moment, Plan

Matrix = npt.NDArray[np.float64]


class Fixed(nn.Module):
    """A matrix that does not change; the loss may see another form of it."""

    def __init__(self, T_c: Matrix, form: Matrix | None = None) -> None:
        super().__init__()
        self.learning_rate: float | None = None
        self.register_buffer("T_c", torch.tensor(T_c, dtype=torch.float32))
        self.register_buffer("form", torch.tensor(T_c if form is None else form, dtype=torch.float32))

    def forward(self, at: Moment = START) -> Tensor:
        return self.get_buffer("form")

    def class_matrix(self) -> Tensor:
        return self.get_buffer("T_c")


class Learnt(nn.Module):
    """T learnt jointly with the classifier; diagonally dominant by construction (Li et al. 2021)."""

    def __init__(self, classes: int, *, learning_rate: float) -> None:
        super().__init__()
        self.learning_rate = learning_rate
        # each row starts with the off-diagonal mass that its authors' -2 gives 10 classes (and -4.5 gives 100)
        share = min(0.5, 1.0728 / (classes - 1))
        start = float(np.log(share / (1 - share)))
        self.logits = nn.Parameter(torch.full((classes, classes), start))
        self.register_buffer("identity", torch.eye(classes))

    def forward(self, at: Moment = START) -> Tensor:
        identity = self.get_buffer("identity")
        mass = identity + torch.sigmoid(self.logits) * (1 - identity)  # (c, c)
        return mass / mass.sum(1, keepdim=True)

    def class_matrix(self) -> Tensor:
        return self.forward().detach()


class Revised(nn.Module):
    """T + DeltaT, with DeltaT learnt from zero and the rows kept distributions (Xia et al. 2019, projected)."""

    def __init__(self, T_c: Matrix, *, learning_rate: float) -> None:
        super().__init__()
        self.learning_rate = learning_rate
        self.register_buffer("T_c", torch.tensor(T_c, dtype=torch.float32))
        self.delta = nn.Parameter(torch.zeros(T_c.shape))

    def forward(self, at: Moment = START) -> Tensor:
        mass = (self.get_buffer("T_c") + self.delta).clamp(min=0)
        return mass / mass.sum(1, keepdim=True)

    def class_matrix(self) -> Tensor:
        return self.forward().detach()


class Dropping(nn.Module):
    """T_c as methods that select rows see it: the share of a batch to drop, by the epoch."""

    def __init__(self, T_c: Matrix, plan: Plan) -> None:
        super().__init__()
        self.learning_rate: float | None = None
        self.plan = plan
        self.register_buffer("T_c", torch.tensor(T_c, dtype=torch.float32))

    def forward(self, at: Moment = START) -> Tensor:
        return self.get_buffer("T_c").new_tensor(self.plan.at(at))

    def class_matrix(self) -> Tensor:
        return self.get_buffer("T_c")


TransitionModule = Fixed | Learnt | Revised | Dropping
