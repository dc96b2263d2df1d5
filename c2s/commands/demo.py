"""`c2s demo`: real digits, 40 % of the labels wrong; cross-entropy against Class2Simi, start to finish."""

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

RATE = 0.4


def add(commands: Any) -> None:
    """Add the command and its options."""
    command = commands.add_parser("demo", help="learn real digits from labels of which 40 %% are wrong")
    command.add_argument("--seed", type=int, default=1)
    command.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> None:
    """Corrupt the labels, train both ways, show the noise found and both accuracies on clean test digits."""
    from rich.console import Console
    from rich.table import Table

    from c2s import config, data, estimation, evaluation, noise, pipeline, streams
    from c2s.commands import display

    console = Console()
    images, truth = digits()
    test, train = np.arange(400), np.arange(400, len(truth))
    T = noise.symmetric(10, RATE)
    given = noise.corrupt(truth[train], T, rng=streams.numpy(chosen.seed, "flips"))
    dataset = data.from_arrays(images[train], given)
    wrong = float((given != truth[train]).mean())
    console.print(
        f"{len(train)} digits, [bold]{wrong:.1%} of the labels wrong[/]; 400 clean ones to test on\n"
    )
    table = Table(title="accuracy on clean test digits", title_justify="left")
    for column in ("method", "accuracy", "model of"):
        table.add_column(column)
    with tempfile.TemporaryDirectory() as folder:
        for method in ("ce", "f-class2simi"):
            console.print(f"[bold]{method}[/]")
            settings = config.TrainConfig.parse({"method": method, "seed": chosen.seed})
            with display.Bars(console) as bars:
                found = pipeline.run(dataset, settings, Path(folder) / method, report=bars)
            right = evaluation.accuracy(found.net, images[test], truth[test])
            table.add_row(method, f"{right:.1%}", found.kept)
    display.show_noise(console, found, dataset.classes)
    console.print(f"T_c is off by {estimation.error(found.T_c, T):.4f} an entry from the noise put in\n")
    console.print(table)


def digits() -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """scikit-learn's own 1,797 handwritten digits as 8 x 8 grey images, in random order, with their true classes."""
    from sklearn.datasets import load_digits

    bunch = load_digits()
    order = np.random.default_rng(0).permutation(len(bunch.target))
    images = np.rint(bunch.images[order] * (255 / 16)).astype(np.uint8)
    return images, bunch.target[order].astype(np.int64)
