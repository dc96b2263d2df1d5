"""The transition matrix during training: fixed, learnt from nothing, or revised from an estimate.

Each is a module: calling it gives what the method's loss sees, `class_matrix` the T_c it stands for.
"""

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

Matrix = npt.NDArray[np.float64]


class Fixed(nn.Module):
    """A matrix that does not change; the loss may see another form of it."""

    def __init__(self, T_c: Matrix, form: Matrix | None = None) -> None:
        super().__init__()
        self.learning_rate: float | None = None
        self.register_buffer("T_c", torch.tensor(T_c, dtype=torch.float32))
        self.register_buffer("form", torch.tensor(T_c if form is None else form, dtype=torch.float32))

    def forward(self) -> Tensor:
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

    def forward(self) -> Tensor:
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

    def forward(self) -> Tensor:
        mass = (self.get_buffer("T_c") + self.delta).clamp(min=0)
        return mass / mass.sum(1, keepdim=True)

    def class_matrix(self) -> Tensor:
        return self.forward().detach()


TransitionModule = Fixed | Learnt | Revised
