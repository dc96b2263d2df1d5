"""How honest the probabilities are: calibration error before and after, estimated through T and by clean labels.

Real digits with wrong labels; the clean labels of the test rows are used for nothing but the last two columns.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
import torch
from sklearn.datasets import load_digits

from c2s import config, data, pipeline, streams
from c2s.learning import evaluation
from c2s.learning.batches import Source
from c2s.matrix import calibration, noise
from c2s.nets import classifier

NOISES = {"sym-0.4": noise.symmetric(10, 0.4), "pair-0.3": noise.pair_flip(10, 0.3)}
METHODS = ("ce", "forward", "f-class2simi")
TEST = 500


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=1)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    print("                                        estimated through T      by clean labels")
    print("noise     method        seed  temperature   before   after         before   after   accuracy")
    for name in NOISES:
        for method in METHODS:
            for seed in range(1, chosen.seeds + 1):
                print(f"{name:<10}{method:<14}{seed:>4}  {measured(name, method, seed)}", flush=True)


def measured(name: str, method: str, seed: int) -> str:
    """One training: its temperature, and both errors before and after."""
    pixels, truth = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(truth))
    x, y = (pixels[order] * 15).astype(np.uint8).reshape(-1, 8, 8, 1), truth[order].astype(np.int64)
    noisy = noise.corrupt(y[TEST:], NOISES[name], rng=streams.numpy(seed, "flips"))
    wanted = config.TrainConfig.parse({"method": method, "seed": seed})
    with tempfile.TemporaryDirectory() as folder:
        found = pipeline.run(data.from_arrays(x[TEST:], noisy), wanted, Path(folder) / "run")
        told = found.card["calibration"]
        raw = classifier.tempered(found.net, 1 / told["temperature"])
        errors = []
        for net in (raw, found.net):
            f = evaluation.posterior(net, Source(x[:TEST], torch.device("cpu")))
            errors.append(calibration.error(f, f.argmax(1) == y[:TEST]))
        right = (f.argmax(1) == y[:TEST]).mean()
    ece = told["ece"]
    seen = f"{errors[0]:>15.3f}{errors[1]:>8.3f}{100 * right:>10.1f}"
    return f"{told['temperature']:>11.2f}{ece['before']:>9.3f}{ece['after']:>8.3f}{seen}"


if __name__ == "__main__":
    main()
