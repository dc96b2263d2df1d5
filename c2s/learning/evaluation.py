"""Sweeps over rows with a net that does not learn: posteriors and accuracy."""

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from c2s import data
from c2s.learning import batches
from c2s.matrix import transition

SWEEP = 1000  # rows per evaluation batch
CLEARLY = 1.645  # standard errors of a paired difference: one-sided 95 %
Labels = npt.NDArray[np.int64]


@torch.inference_mode()
def posterior(net: nn.Module, source: batches.Source, rows: Labels | None = None) -> npt.NDArray[np.float64]:
    """Softmax outputs (n, c) of the net in evaluation mode, on inputs as they are."""
    mode = net.training
    net.eval()
    numbers = torch.from_numpy(np.array(rows)) if rows is not None else torch.arange(len(source))
    logits = torch.cat([net(source.gather(part)).cpu() for part in numbers.split(SWEEP)])
    net.train(mode)
    return logits.double().softmax(1).numpy()  # in float64, so that rows sum to one


def accuracy(net: nn.Module, inputs: data.Inputs, y: Labels, device: str = "cpu") -> float:
    """The share of rows whose class the net gets right."""
    probs = posterior(net, batches.Source(inputs, torch.device(device)))
    return float((probs.argmax(1) == y).mean())


def expected(probs: npt.NDArray[np.float64], T_c: npt.NDArray[np.float64]) -> Labels:
    """The noisy label that the class of each row is mostly given (n,): its own, wherever classes keep their labels."""
    likeliest: Labels = transition.mostly(T_c)[probs.argmax(1)]
    return likeliest


def judged(probs: npt.NDArray[np.float64], T_c: npt.NDArray[np.float64], y: Labels) -> dict[str, float]:
    """Accuracy with which f predicts noisy labels, and the mean log-likelihood of T^T f."""
    noisy = probs @ T_c  # (n, c)
    likely = np.log(np.maximum(noisy[np.arange(len(y)), y], 1e-12))
    return {"accuracy": float((expected(probs, T_c) == y).mean()), "likelihood": float(likely.mean())}


def clearly_better(gains: npt.NDArray[np.float64]) -> bool:
    """Whether what each row gained, +1, 0 or -1 where it is judged twice, is more than chance."""
    return len(gains) > 0 and bool(gains.mean() > CLEARLY * gains.std() / np.sqrt(len(gains)))
