"""Two nets as one module, for methods in which each judges the other's rows."""

import torch
from torch import Tensor, nn

from c2s.nets import inputs


class Twins(nn.Module):
    """Logits of both (2, b, c) in training; in evaluation the first alone answers, and it is what is published."""

    def __init__(self, first: nn.Module, second: nn.Module) -> None:
        super().__init__()
        self.first = first
        self.second = second

    def forward(self, x: Tensor | inputs.Bag) -> Tensor:
        logits: Tensor = self.first(x)
        return torch.stack([logits, self.second(x)]) if self.training else logits
