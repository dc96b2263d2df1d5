"""What `method: auto` costs: a whole job against one cross-entropy training of the same length, by the number of rows.

Vectors of 64 features, ten classes, 40 % wrong labels. The cross-entropy job has no folds and no joint learning: it is
its two stages alone. Each size runs in a process of its own, so that its peak of memory is its own.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

from c2s import config, data, pipeline, streams
from c2s.matrix import noise

PLAIN = {"estimator": "confident-joint", "posteriors": "in-sample"}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--alone", nargs=2, metavar=("METHOD", "ROWS"), help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    if chosen.alone:
        job(chosen.alone[0], int(chosen.alone[1]))
        return
    print(f"{'rows':>9}{'ce':>9}{'auto':>9}{'ratio':>8}{'per row':>12}{'peak':>10}")
    for rows in chosen.rows:
        (plain, _), (whole, peak) = (alone(method, rows) for method in ("ce", "auto"))
        shown = f"{rows:>9}{plain:>8.1f}s{whole:>8.1f}s{whole / plain:>7.2f}x"
        print(f"{shown}{1e3 * whole / rows:>9.2f} ms{peak:>7.0f} MB", flush=True)


def alone(method: str, rows: int) -> tuple[float, float]:
    """Seconds of CPU and megabytes of one job."""
    command = [sys.executable, __file__, "--alone", method, str(rows)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return float(said[0]), float(said[1])


def job(method: str, rows: int) -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 10, rows)
    x = (rng.normal(size=(10, 64))[truth] * 0.4 + rng.normal(size=(rows, 64))).astype(np.float32)
    y = noise.corrupt(truth, noise.symmetric(10, 0.4), rng=streams.numpy(0, "flips"))
    wanted = {"method": method} | ({} if method == "auto" else {"transition": PLAIN})
    with tempfile.TemporaryDirectory() as folder:
        began = time.process_time()
        pipeline.run(data.from_arrays(x, y), config.TrainConfig.parse(wanted), Path(folder) / "run")
        spent = time.process_time() - began
    print(spent, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


if __name__ == "__main__":
    main()
