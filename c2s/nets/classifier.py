"""A net as the rest of the library meets it: raw rows in, logits out."""

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
