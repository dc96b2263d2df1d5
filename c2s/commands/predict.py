"""`c2s predict MODEL FILE`: the clean class of every row, as CSV."""

import argparse
import csv
import sys
from pathlib import Path
from typing import Any


def add(commands: Any) -> None:
    """Add the command and its options."""
    command = commands.add_parser("predict", help="predict the clean class of the rows of a file")
    command.add_argument("model", type=Path, help="a model folder, or the run folder it is in")
    command.add_argument("file", type=Path)
    command.add_argument("--id", help="a column that names the rows")
    command.add_argument(
        "--all", action="store_true", help="the probability of every class, not only the likeliest"
    )
    command.add_argument("--out", type=Path, help="write here instead of to the terminal")
    command.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> None:
    """Write one line a row: its id, the class, its probability."""
    from c2s import files
    from c2s.predictor import Predictor

    model = Predictor.load(folder_of(chosen.model))
    inputs, ids = files.read_inputs(chosen.file, model.spec, id=chosen.id)
    probs = model.probabilities(inputs)
    header = ["id", "label", "probability"]
    rows: list[list[object]] = [
        [name, model.labels[int(row.argmax())], f"{row.max():.6f}"]
        for name, row in zip(ids, probs, strict=True)
    ]
    if chosen.all:
        header += [f"p({name})" for name in model.classes]
        rows = [line + [f"{p:.6f}" for p in row] for line, row in zip(rows, probs, strict=True)]
    if chosen.out is None:
        csv.writer(sys.stdout, lineterminator="\n").writerows([header, *rows])
        return
    with chosen.out.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])


def folder_of(path: Path) -> Path:
    """A run's folder stands for the model in it."""
    return path / "model" if (path / "model").is_dir() else path
