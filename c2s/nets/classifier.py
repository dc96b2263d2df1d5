"""A net as the rest of the library meets it: raw rows in, logits out."""

import copy

import torch
from torch import Tensor, nn

from c2s.nets import inputs


class Classifier(nn.Module):
    """`inputs` brings stored rows to one scale, `body` answers logits (b, classes)."""

    def __init__(self, first: inputs.Pixels | inputs.Scale | inputs.Bags, body: nn.Module) -> None:
        super().__init__()
        self.inputs = first
        self.body = body

    def forward(self, x: Tensor | inputs.Bag) -> Tensor:
        logits: Tensor = self.body(self.inputs(x))
        return logits


def tempered(net: nn.Module, temperature: float) -> nn.Module:
    """A copy whose logits are divided by the temperature: every net of ours ends in a linear layer."""
    cooled = copy.deepcopy(net)
    *_, last = (layer for layer in cooled.modules() if isinstance(layer, nn.Linear))
    with torch.no_grad():
        for parameter in last.parameters():
            parameter.div_(temperature)
    return cooled
