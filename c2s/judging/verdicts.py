"""What probabilities say about rows: the likeliest classes, and how wrong a given label is; for all who answer."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from c2s.interface import Interface, Probabilities

Places = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.float64]


def best(probs: Probabilities) -> tuple[Places, Numbers]:
    """The likeliest class of each row, and its probability."""
    places = probs.argmax(axis=1)
    return places, probs[np.arange(len(probs)), places]


def ranked(probs: Probabilities, top_k: int) -> Places:
    """The likeliest classes of each row, shape (n, k): the likeliest first, of equals the earlier."""
    return np.argsort(-probs, axis=1, kind="stable")[:, :top_k]


class Audit(NamedTuple):
    """What the model thinks of given labels: P(it is wrong), and the likeliest class given row and label."""

    wrong: Numbers
    likeliest: Places
    probability: Numbers


def audit(model: Interface, probs: Probabilities, given: Places, *, corrected: bool = False) -> Audit:
    """Judge a label for each row; `corrected` ones are of a dataset that has some put right."""
    clean = model.audit(probs, given, corrected=corrected)  # (n, c)  P(clean = k | row, given label)
    right = clean[np.arange(len(clean)), given]
    return Audit(np.maximum(0.0, 1.0 - right), clean.argmax(axis=1), clean.max(axis=1))
