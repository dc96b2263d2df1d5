"""What it is worth that stage 1 of few rows goes on: classes in a row, which a short stage 1 cannot part yet.

Each class is a normal cloud in four dimensions; three labels in ten are those of the next class, or of any other. Every
method runs with one round of stage 1 and with as many as it takes, all else at its default; accuracy is on 3,000 rows
with true labels.
"""

import argparse
import statistics
import tempfile
from pathlib import Path

import numpy as np
import torch

from c2s import config, data, pipeline
from c2s.learning import evaluation
from c2s.paper import groundwork

Setting = tuple[int, int, float, str]
SETTINGS: tuple[Setting, ...] = (  # classes, rows, how far the next class is in each dimension, which labels
    (4, 200, 4.0, "any"),
    (8, 300, 4.0, "any"),
    (3, 600, 4.0, "next"),
    (4, 300, 4.0, "next"),
    (4, 600, 4.0, "next"),
    (5, 600, 4.0, "next"),
    (6, 1200, 4.0, "next"),
    (4, 600, 1.2, "next"),
)
METHODS = ("f-class2simi", "forward", "ce", "auto")
WIDTH, TEST, WRONG = 4, 3000, 0.3


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, nargs="+", default=[3, 4, 5])  # 1 and 2 chose the rule
    parser.add_argument("--methods", nargs="+", default=METHODS)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    print(f"{'classes, rows, apart, labels':<30}{'method':<16}{'one round':<28}as many as it takes")
    for setting in SETTINGS:
        for method in chosen.methods:
            found = [
                [accuracy(setting, method, seed, rounds) for seed in chosen.seeds] for rounds in (1, None)
            ]
            shown = [
                f"{statistics.fmean(some):6.2f} ({', '.join(f'{one:.1f}' for one in some)})" for some in found
            ]
            print(f"{setting!s:<30}{method:<16}{shown[0]:<28}{shown[1]}", flush=True)


def accuracy(setting: Setting, method: str, seed: int, rounds: int | None) -> float:
    """In %, of one job."""
    classes, count, apart, labels = setting
    rng, truth, unseen = np.random.default_rng(seed), np.arange(count) % classes, np.arange(TEST) % classes
    x, x_test = (rng.normal(size=(len(part), WIDTH)) + apart * part[:, None] for part in (truth, unseen))
    if labels == "next":
        y = np.where(rng.random(count) < WRONG, (truth + 1) % classes, truth)
    else:  # a label that is drawn anew may be the right one
        drawn = rng.random(count) < WRONG * classes / (classes - 1)
        y = np.where(drawn, rng.integers(0, classes, count), truth)
    wanted = config.TrainConfig.parse({"method": method, "seed": seed, "stage1": {"rounds": rounds}})
    shelves = groundwork.shelves(SHELF, {"setting": setting}, wanted)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "run"
        groundwork.borrow(shelves, folder)  # methods of one setting share stage 1 and its folds
        found = pipeline.run(data.from_arrays(x.astype(np.float32), y), wanted, folder)
        groundwork.keep(shelves, folder)
    return 100 * evaluation.accuracy(found.net, x_test.astype(np.float32), unseen)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as shelf:
        SHELF = Path(shelf)
        main()
