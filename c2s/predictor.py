"""A published model, ready to answer: its folder is all it needs."""

from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from c2s import data, errors
from c2s.interface import Interface, Probabilities
from c2s.learning import batches, checkpoint, evaluation


class Predictor(Interface):
    """The clean classifier of a model folder; it never changes, so any number of threads may ask it at once."""

    def __init__(self, net: nn.Module, card: dict[str, Any], *, device: str = "cpu") -> None:
        super().__init__(card)
        self._device = torch.device(device)
        self._net = net.to(self._device).eval()

    @classmethod
    def load(cls, folder: Path, *, device: str = "cpu") -> Self:
        """Read a model folder; an incomplete or altered one is `InvalidModel`."""
        net, card = checkpoint.load_model(folder)
        return cls(net, card, device=device)

    def probabilities(self, inputs: data.Inputs) -> Probabilities:
        """P(clean class | row), shape (n, c); inputs of another shape, or out of reach, are `InvalidDataset`."""
        fitting = self.fitting(inputs)
        if len(fitting) == 0:
            return np.zeros((0, len(self.labels)))
        found = evaluation.posterior(self._net, batches.Source(fitting, self._device))
        if not (fine := np.isfinite(found).all(axis=1)).all():
            where = f"row {fine.argmin()}" if len(found) > 1 else "the row"
            raise errors.InvalidDataset(f"{where} is too far from the training rows for float32")
        return found

    def noisy(self, inputs: data.Inputs) -> Probabilities:
        """P(noisy class | row), shape (n, c)."""
        return self.noisy_posterior(self.probabilities(inputs))

    def predict(self, inputs: data.Inputs) -> npt.NDArray[Any]:
        """The most probable label of each row, as the user wrote it."""
        chosen: npt.NDArray[Any] = np.array(self.labels)[self.probabilities(inputs).argmax(1)]  # (n,)
        return chosen
