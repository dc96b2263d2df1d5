"""How often noise is said to depend on more than the class: synthetic noise of the class alone, and real labels."""

import sys
import tempfile
from pathlib import Path

import coverage
import issues_sets
import numpy as np
import torch

from c2s import data
from c2s.matrix import dependence, estimation
from c2s.paper import sources

SEED = 1
REAL = ("hausa", "labelme", "labelme-one")


def synthetic(setting, trials):
    """The share of trials in which it is said."""
    rng, fired = np.random.default_rng(SEED), []
    for _ in range(trials):
        x, _, y = coverage.draw(setting, rng)
        P, _ = coverage.cross_fit(setting, x, y, rng)
        fired.append(dependence.examine(P, y, estimation.confident_joint(P, y).T).found)
    return np.mean(fired)


def real(name, seeds):
    """The same over seeds of stage 1."""
    x, y, _, classes = issues_sets.rows(name, sources.folder(), SEED)
    kind = "text" if isinstance(x, data.Bags) else "vectors"
    fired = []
    for seed in range(1, seeds + 1):
        with tempfile.TemporaryDirectory() as folder:
            dataset = data.Dataset(x, y, tuple(range(classes)), kind)
            P = issues_sets.posterior(dataset, Path(folder) / "run", seed)
        fired.append(dependence.examine(P, y, estimation.confident_joint(P, y).T).found)
    return np.mean(fired)


def main():
    """Two tables."""
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    torch.set_num_threads(1)
    print(f"said of synthetic noise, {trials} trials a setting, seed {SEED}")
    for setting in coverage.TUNED:
        head = f"{setting.rows} rows, {setting.classes} classes, {setting.distance} apart, {setting.name}"
        print(f"{head:<60} {synthetic(setting, trials):.2f}", flush=True)
    print("said of real labels, 5 seeds of stage 1")
    for name in REAL:
        print(f"{name:<60} {real(name, 5):.2f}", flush=True)


if __name__ == "__main__":
    main()
