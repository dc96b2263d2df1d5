"""The published LeNet in torch, for the servers that ours is measured against; one thread, as ours has."""

import os
import sys
from pathlib import Path

import numpy as np
import torch

from c2s.learning import checkpoint

FOLDER = (
    "C2S_BENCH_MODEL"  # the environment names the model's folder: a server may start processes of its own
)


class Net:
    """Pixels in, an answer for each row out."""

    def __init__(self) -> None:
        torch.set_num_threads(1)
        self.net, card = checkpoint.load_model(Path(os.environ[FOLDER]))
        self.net.eval()
        self.classes = [str(label) for label in card["labels"]]

    @torch.inference_mode()
    def probabilities(self, rows: object) -> np.ndarray:
        """Of rows as JSON or an array has them."""
        pixels = torch.from_numpy(np.asarray(rows, dtype=np.uint8)[..., None])
        return self.net(pixels).softmax(1).numpy()

    def said(self, probs: np.ndarray) -> dict:
        """What our service says of a row."""
        place = int(probs.argmax())
        return {
            "class": self.classes[place],
            "probability": float(probs[place]),
            "probabilities": probs.tolist(),
        }


def port() -> int:
    return int(sys.argv[1])
