"""A published model, ready to answer: its folder is all it needs."""

from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from c2s import batches, checkpoint, data, encoding, errors, evaluation
from c2s.shape import Shape

Probabilities = npt.NDArray[np.float64]


class Predictor:
    """The clean classifier of a model folder; it never changes, so any number of threads may ask it at once."""

    def __init__(self, net: nn.Module, card: dict[str, Any], *, device: str = "cpu") -> None:
        self.card = card
        self.labels: tuple[data.Label, ...] = tuple(card["labels"])  # the user's own values
        self.classes = tuple(str(label) for label in self.labels)
        self.shape = Shape(**card["shape"])
        self.transition = np.array(card["transition"]["matrix"])  # (c, c)
        self._encoding = encoding.parse(card["encoding"]) if card["encoding"] else None
        self._device = torch.device(device)
        self._net = net.to(self._device).eval()

    @classmethod
    def load(cls, folder: Path, *, device: str = "cpu") -> Self:
        """Read a model folder; an incomplete or altered one is `InvalidModel`."""
        net, card = checkpoint.load_model(folder)
        return cls(net, card, device=device)

    @property
    def spec(self) -> encoding.Encoding:
        """How raw rows become inputs: as the training rows did, or as arrays of their shape."""
        if self._encoding is not None:
            return self._encoding
        if self.shape.kind == "text":
            raise errors.InvalidDataset("the model was trained on bags of terms and cannot read texts")
        return self._array()

    def raw(self, rows: object) -> data.Inputs:
        """Rows as the user keeps them, turned into inputs the way the training rows were."""
        return encoding.apply(self.spec, rows)

    def probabilities(self, inputs: data.Inputs) -> Probabilities:
        """P(clean class | row), shape (n, c); inputs of another shape are `InvalidDataset`."""
        fitting = self._fitting(inputs)
        if len(fitting) == 0:
            return np.zeros((0, len(self.labels)))
        return evaluation.posterior(self._net, batches.Source(fitting, self._device))

    def noisy(self, inputs: data.Inputs) -> Probabilities:
        """P(noisy class | row) = T^T f, shape (n, c): what a labeller as careless as the training data's would say."""
        noisy: Probabilities = self.probabilities(inputs) @ self.transition  # (n, c)
        return noisy

    def predict(self, inputs: data.Inputs) -> npt.NDArray[Any]:
        """The most probable label of each row, as the user wrote it."""
        chosen: npt.NDArray[Any] = np.array(self.labels)[self.probabilities(inputs).argmax(1)]  # (n,)
        return chosen

    def _fitting(self, inputs: data.Inputs) -> data.Inputs:
        if not isinstance(inputs, data.Bags):
            if self.shape.kind == "text":
                raise errors.InvalidDataset("the model takes bags of terms, not an array")
            return encoding.apply(self._array(), inputs)
        if self.shape.kind != "text":
            raise errors.InvalidDataset(f"the model takes {self.shape.kind} rows, not bags of terms")
        if inputs.width != self.shape.width or not _inside(inputs):
            raise errors.InvalidDataset(
                f"the model knows {self.shape.width} terms, the bags speak of {inputs.width}"
            )
        return inputs

    def _array(self) -> encoding.VectorEncoding | encoding.ImageEncoding:
        """What an array must look like, by the card's shape."""
        if self.shape.image is not None:
            height, width, channels = self.shape.image
            return encoding.ImageEncoding(height=height, width=width, channels=channels)
        if self.shape.width is None:
            raise errors.InvalidModel("the card does not say how wide the rows are")
        return encoding.VectorEncoding(width=self.shape.width)


def _inside(bags: data.Bags) -> bool:
    return len(bags.indices) == 0 or bool(bags.indices.min() >= 0 and bags.indices.max() < bags.width)
