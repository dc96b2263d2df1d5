"""`c2s transition show|export|diff`: how wrong the labels were, by a job of the service or a model folder.

`c2s transition FOLDER` is short for `c2s transition show FOLDER`.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from c2s import cells, errors
from c2s.commands import remote
from c2s.commands.predict import folder_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

VERBS = ("show", "export", "diff")
WHAT = "a job (job_...) or model (mdl_...) of the service, or the folder of a model or run"
FORMS = (".csv", ".json", ".npy", ".npz")
LARGEST = 10  # changes that a person is shown


def add(commands: Any) -> None:
    """Add the commands and their options."""
    about = "how wrong the labels were; `transition FOLDER` shows the matrices of a model folder"
    command = commands.add_parser("transition", help=about, description=about, verbs=VERBS, usual="show")
    verbs = command.add_subparsers(required=True, metavar="VERB")
    shown = verbs.add_parser("show", help="print the matrices")
    shown.add_argument("what", metavar="WHAT", help=WHAT)
    shown.add_argument(
        "-o", "--output", "--format", choices=("table", "json", "csv"), default="table", help="default: table"
    )
    shown.set_defaults(run=run_show)
    exported = verbs.add_parser("export", help="write T_c to a file")
    exported.add_argument("what", metavar="WHAT", help=WHAT)
    exported.add_argument("--out", type=Path, required=True, help=f"ends in {', '.join(FORMS)}")
    exported.set_defaults(run=run_export)
    compared = verbs.add_parser("diff", help="what changed from one matrix to another")
    compared.add_argument("what", metavar="WHAT", help=WHAT)
    compared.add_argument("other", metavar="OTHER")
    compared.set_defaults(run=run_diff)
    for verb in (exported, compared):
        verb.add_argument("-o", "--output", choices=("table", "json"), default="table")
    for verb in (shown, exported, compared):
        verb.add_argument("--url", help="of the service; default: C2S_URL, or the one of `c2s up` here")


class Found(NamedTuple):
    """A matrix, and all that was told of it."""

    classes: list[str]
    raw: dict[str, Any]
    notes: Sequence[str]

    @property
    def others(self) -> list[tuple[str, float]]:
        """What the other estimators said: their names and how far they are."""
        told = self.raw["alternatives"]
        if isinstance(told, dict):  # as a card has them
            return [(name, one["distance"]) for name, one in told.items() if name != self.raw["estimator"]]
        return [(one["estimator"], one["distance"]) for one in told]


def find(chosen: argparse.Namespace, what: str) -> Found:
    """The matrix of a job or model of the service, or of a folder."""
    if not what.startswith(("job_", "mdl_")) or Path(what).exists():
        from c2s import cards

        card = cards.load(folder_of(Path(what)))
        classes = [str(label) for label in card["labels"]]
        return Found(classes, {"classes": classes, **card["transition"]}, card["notes"])
    with remote.client(chosen) as client:
        job_id = what if what.startswith("job_") else client.models.get(what).job_id
        told = client.jobs.get(job_id).transition()
    return Found(told.classes, told.raw, list(dict.fromkeys([*told.warnings, *told.raw.get("notes", ())])))


def run_show(chosen: argparse.Namespace) -> None:
    """Print what is known about the noise."""
    found = find(chosen, chosen.what)
    if chosen.output == "json":
        remote.as_json(found.raw)
    elif chosen.output == "csv":
        write_csv(found, sys.stdout)
    else:
        _show(found)


def write_csv(found: Found, file: TextIO) -> None:
    """T_c under its classes."""
    names = [cells.harmless(name) for name in found.classes]
    lines = [[name, *row] for name, row in zip(names, found.raw["matrix"], strict=True)]
    csv.writer(file, lineterminator="\n").writerows([["true \\ given", *names], *lines])


def _show(found: Found) -> None:
    import numpy as np
    from rich.console import Console
    from rich.text import Text

    from c2s.commands import display

    console = Console()
    console.print(display.matrix_table(np.array(found.raw["matrix"]), found.classes))
    console.print(display.similarity_table(**found.raw["similarity"]))
    rates = found.raw["noise_rate"]
    ends = (found.raw.get("interval") or {}).get("noise_rate")
    display.show_rates(console, rates["class"], rates["similarity"], found.raw["estimator"], ends=ends)
    for name, distance in found.others:
        console.print(f"  {name} differs by {distance:.3f} a row", highlight=False)
    for note in found.notes:
        console.print(Text(f"note: {note}", style="yellow"))
    if advice := found.raw.get("advice"):
        console.print(Text(f"advice: {advice['method']}: {advice['reason']}", style="bold"))


def run_export(chosen: argparse.Namespace) -> None:
    """Write the matrix in the form that the file's name asks for."""
    if chosen.out.suffix not in FORMS:
        raise errors.InvalidConfig(f"{chosen.out}: the name must end in {', '.join(FORMS)}")
    found = find(chosen, chosen.what)
    _write(found, chosen.out)
    sys.stderr.write(f"T_c of {len(found.classes)} classes in {chosen.out}\n")
    if chosen.output == "json":
        remote.as_json({"file": str(chosen.out), "classes": found.classes})


def _write(found: Found, path: Path) -> None:
    import json

    import numpy as np

    T_c = np.array(found.raw["matrix"])
    match path.suffix:
        case ".csv":
            with path.open("w", newline="", encoding="utf-8") as file:
                write_csv(found, file)
        case ".json":
            path.write_text(json.dumps(found.raw, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        case ".npy":
            np.save(path, T_c, allow_pickle=False)
        case _:
            np.savez(path, allow_pickle=False, matrix=T_c, classes=np.array(found.classes))


def run_diff(chosen: argparse.Namespace) -> None:
    """The largest changes, and the mean distance of the rows."""
    import numpy as np

    one, other = find(chosen, chosen.what), find(chosen, chosen.other)
    if set(one.classes) != set(other.classes):
        raise errors.InvalidConfig("the matrices are of different classes")
    order = [other.classes.index(name) for name in one.classes]
    before = np.array(one.raw["matrix"])
    after = np.array(other.raw["matrix"])[np.ix_(order, order)]
    changes = _largest(before, after, one.classes)
    distance = float(np.abs(after - before).sum(1).mean())
    told = {"classes": one.classes, "mean_row_distance": distance, "difference": (after - before).tolist()}
    head = f"the rows differ by {distance:.3f} on average (0: alike, 2: nothing in common)"
    columns = ("true class", "given label", "before", "after", "change")
    remote.give(
        chosen,
        {**told, "largest": changes},
        lambda: [head, remote.table(changes[:LARGEST], columns, empty="alike")],
    )


def _largest(
    before: npt.NDArray[np.float64], after: npt.NDArray[np.float64], classes: Sequence[str]
) -> list[dict[str, Any]]:
    import numpy as np

    places = np.argsort(-np.abs(after - before), axis=None, kind="stable")
    found = []
    for i, j in (divmod(int(place), len(classes)) for place in places):
        old, new = float(before[i, j]), float(after[i, j])
        if old != new:
            told = {"true class": classes[i], "given label": classes[j]}
            found.append({**told, "before": old, "after": new, "change": new - old})
    return found
