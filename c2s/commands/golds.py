"""`c2s gold`: which rows to look at so that a classifier's accuracy is known, and what their true labels say of it."""

from __future__ import annotations

import argparse
import csv
import sys
from pathlib import Path
from typing import Any

from c2s import cells, errors
from c2s.commands import issues, remote

FIRST = ("id", "given", "predicted", "probability", "reason")
LABEL = "label"  # the column that a person fills
NONE_LEFT = "no row is left to look at: all rows held out are gold"


def add(commands: Any) -> None:
    """Add the commands and their options."""
    verbs = remote.Verbs(
        commands, "gold", "rows to look at, and a classifier's accuracy by their true labels"
    )
    listed = verbs.add("ls", run_ls, "the rows whose true labels would tell most, the first to look at first")
    listed.add_argument("job", metavar="JOB")
    listed.add_argument("--rows", type=int, default=50, help="default: 50")
    listed.add_argument("--out", type=Path, help=f"write a CSV with a column {LABEL!r} to fill")
    counted = verbs.add("count", run_count, "the accuracy with its interval, by true labels in a CSV")
    counted.add_argument("job", metavar="JOB")
    counted.add_argument("file", type=Path, metavar="FILE", help=f"columns id and {LABEL}; empty: not known")
    counted.add_argument(
        "--random-gold",
        action="store_true",
        help="the dataset's gold rows were drawn at random: count them alike",
    )


def run_ls(chosen: argparse.Namespace) -> None:
    """One line a row, or a file to fill."""
    with remote.client(chosen) as client:
        found = client.jobs.get(chosen.job).gold(chosen.rows)
    if chosen.out is None:
        remote.give(
            chosen, list(found), lambda: [remote.table(map(issues.shown, found), FIRST, empty=NONE_LEFT)]
        )
        return
    names = [*FIRST, LABEL]
    with chosen.out.open("w", newline="", encoding="utf-8") as file:
        rows = ([cells.harmless(row.get(name, "")) for name in names] for row in found)
        csv.writer(file, lineterminator="\n").writerows([names, *rows])
    sys.stderr.write(
        f"{len(found)} rows in {chosen.out}: fill {LABEL}, then c2s gold count {chosen.job} {chosen.out}\n"
    )
    if chosen.output == "json":
        remote.as_json({"file": str(chosen.out), "rows": len(found)})


def run_count(chosen: argparse.Namespace) -> None:
    """The accuracy, never without its interval."""
    labels = read(chosen.file)
    with remote.client(chosen) as client:
        told = client.jobs.get(chosen.job).accuracy(labels, random_gold=chosen.random_gold)
    remote.give(chosen, told, lambda: _words(told))


def _words(told: dict[str, Any]) -> list[str]:
    value, low, high = (f"{told[name]:.1%}" for name in ("value", "low", "high"))
    more = told.get("more_gold")
    further = told.get("gold_words") if more is None else f"{more} further rows would halve the interval."
    return [
        f"accuracy {value}, 95 % interval {low} to {high}, by {told['rows']} rows",
        *(said for said in (told.get("words"), further) if said),
    ]


def read(path: Path) -> dict[str, str]:
    """True labels by row id; rows without one are left out."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = csv.DictReader(file)
            if not {"id", LABEL} <= set(rows.fieldnames or ()):
                raise errors.InvalidDataset(f"{path}: the columns id and {LABEL} are needed")
            given = {row["id"]: row[LABEL] for row in rows if row[LABEL]}
    except (csv.Error, UnicodeDecodeError) as exc:
        raise errors.InvalidDataset(f"{path} is no CSV in UTF-8") from exc
    if not given:
        raise errors.InvalidDataset(f"{path}: no row has a {LABEL}")
    return {cells.plain(name): cells.plain(label) for name, label in given.items()}
