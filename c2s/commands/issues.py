"""`c2s issues`: the rows of a job whose labels look wrong, and what people decide on them."""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from c2s import cells, errors
from c2s.commands import remote, reviews

if TYPE_CHECKING:
    from c2s.client.frames import Rows

FORMS = ("csv", "jsonl", "parquet")
FIRST = ("rank", "row", "row_id", "id", "given", "suggested")  # the rest follows as the service gives it


def add(commands: Any) -> None:
    """Add the commands and their options."""
    verbs = remote.Verbs(commands, "issues", "rows whose labels look wrong")
    listed = verbs.add("ls", run_ls, "the most suspicious rows first")
    listed.add_argument("job", metavar="JOB")
    listed.add_argument("--limit", type=int, default=20)
    listed.add_argument("--undecided", action="store_true", help="only rows that nobody decided on")
    reviews.add(verbs)
    exported = verbs.add("export", run_export, "all suspicious rows as a file")
    exported.add_argument("job", metavar="JOB")
    exported.add_argument("--out", type=Path, required=True, help="ends in .csv, .jsonl or .parquet")
    exported.add_argument("--limit", type=int)


def run_ls(chosen: argparse.Namespace) -> None:
    """One line a row."""
    with remote.client(chosen) as client:
        only = False if chosen.undecided else None
        found = reviews.flat(client.jobs.get(chosen.job).issues(chosen.limit, decided=only))
    none = "no label looks wrong"
    remote.give(chosen, list(found), lambda: [remote.table(map(shown, found), columns(found), empty=none)])


def shown(row: Mapping[str, Any]) -> dict[str, Any]:
    """Probabilities as people read them."""
    return {
        name: f"{value:.1%}" if name.endswith("probability") and isinstance(value, float) else value
        for name, value in row.items()
    }


def columns(found: Rows) -> list[str]:
    """The fields of the rows, those that matter first."""
    there = dict.fromkeys(name for row in found for name in row)
    return [name for name in FIRST if name in there] + [name for name in there if name not in FIRST]


def run_export(chosen: argparse.Namespace) -> None:
    """Write the file, and say how many rows it has."""
    form = chosen.out.suffix.lstrip(".")
    if form not in FORMS:
        raise errors.InvalidConfig(f"{chosen.out}: the name must end in .{', .'.join(FORMS)}")
    with remote.client(chosen) as client:
        found = client.jobs.get(chosen.job).issues(chosen.limit)
    write(found, chosen.out, form)
    sys.stderr.write(f"{len(found)} rows in {chosen.out}\n")
    if chosen.output == "json":
        remote.as_json({"file": str(chosen.out), "rows": len(found)})


def write(found: Rows, path: Path, form: str) -> None:
    """Rows as a file; only a CSV is changed, where a spreadsheet would compute a cell."""
    if form == "parquet":
        from pyarrow import parquet

        parquet.write_table(found.to_arrow(), path)
    elif form == "jsonl":
        lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in found)
        path.write_text("".join(lines), encoding="utf-8")
    else:
        found = reviews.flat(found)
        names = columns(found)
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerows([names, *([_cell(row.get(name)) for name in names] for row in found)])


def _cell(value: object) -> object:
    nested = isinstance(value, dict | list)
    return cells.harmless(json.dumps(value, ensure_ascii=False) if nested else value)
