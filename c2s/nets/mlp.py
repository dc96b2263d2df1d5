"""The paper's net for documents: linear layers with batch-norm and Softsign between them."""

from collections.abc import Sequence

from torch import Tensor, nn


class Mlp(nn.Sequential):
    """(b, width) -> logits (b, classes) through any number of hidden layers."""

    def __init__(self, width: int, classes: int, *, hidden: Sequence[int], dropout: float = 0.0) -> None:
        layers: list[nn.Module] = []
        for before, after in zip([width, *hidden], hidden, strict=False):
            layers += [nn.Linear(before, after), nn.BatchNorm1d(after), nn.Softsign()]
            if dropout > 0:
                layers.append(nn.Dropout(dropout))
        super().__init__(*layers, nn.Linear([width, *hidden][-1], classes))

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = super().forward(x)
        return logits
