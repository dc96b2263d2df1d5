"""`c2s transition MODEL`: how wrong the labels were, as tables, JSON or CSV."""

import argparse
import csv
import json
import sys
from pathlib import Path
from typing import Any

from c2s.commands.predict import folder_of


def add(commands: Any) -> None:
    """Add the command and its options."""
    command = commands.add_parser("transition", help="print the transition matrices of a model")
    command.add_argument("model", type=Path, help="a model folder, or the run folder it is in")
    command.add_argument("--format", choices=("table", "json", "csv"), default="table")
    command.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> None:
    """Print what the model's card says about the noise."""
    from c2s import cards

    card = cards.load(folder_of(chosen.model))
    classes = [str(label) for label in card["labels"]]
    found = card["transition"]
    if chosen.format == "json":
        json.dump({"classes": classes, **found}, sys.stdout, indent=1)
        sys.stdout.write("\n")
    elif chosen.format == "csv":
        lines = [[name, *row] for name, row in zip(classes, found["matrix"], strict=True)]
        csv.writer(sys.stdout, lineterminator="\n").writerows([["true \\ given", *classes], *lines])
    else:
        _show(found, classes, card["notes"])


def _show(found: dict[str, Any], classes: list[str], notes: list[str]) -> None:
    import numpy as np
    from rich.console import Console
    from rich.text import Text

    from c2s.commands import display

    console = Console()
    console.print(display.matrix_table(np.array(found["matrix"]), classes))
    console.print(display.similarity_table(**found["similarity"]))
    rates = found["noise_rate"]
    display.show_rates(console, rates["class"], rates["similarity"], found["estimator"])
    for name, other in found["alternatives"].items():
        if name != found["estimator"]:
            console.print(f"  {name} differs by {other['distance']:.3f} a row", highlight=False)
    for note in notes:
        console.print(Text(f"note: {note}", style="yellow"))
