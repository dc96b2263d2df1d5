"""Bags of terms: the weighted sum of their word vectors goes into an `Mlp`."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from c2s.nets import inputs, mlp


class WordVectors(nn.Module):
    """One vector per term: learnt, or given by the user and then fixed."""

    weight: Tensor  # (terms, width)

    def __init__(self, terms: int, width: int, *, learnt: bool) -> None:
        super().__init__()
        if learnt:
            self.weight = nn.Parameter(torch.randn(terms, width))
        else:  # a buffer, which no optimiser sees and no `requires_grad_` thaws
            self.register_buffer("weight", torch.zeros(terms, width))

    def forward(self, bag: inputs.Bag) -> Tensor:
        indices, offsets, weights = bag
        return functional.embedding_bag(
            indices, self.weight, offsets, mode="sum", per_sample_weights=weights.to(self.weight.dtype)
        )  # (b, width)


class TextNet(nn.Module):
    """A bag (indices, offsets, weights) -> logits (b, classes)."""

    def __init__(self, words: WordVectors, body: mlp.Mlp) -> None:
        super().__init__()
        self.words = words
        self.body = body

    def forward(self, bag: inputs.Bag) -> Tensor:
        logits: Tensor = self.body(self.words(bag))
        return logits
