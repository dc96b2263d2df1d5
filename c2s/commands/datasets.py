"""`c2s dataset`: add, ls, report, rm."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from c2s.commands import remote

COLUMNS = ("id", "state", "name", "kind", "rows", "classes", "created_at")
REFUSED_ROWS, CLASSES = 10, 30  # that a person is shown


def add(commands: Any) -> None:
    """Add the commands and their options."""
    verbs = remote.Verbs(commands, "dataset", "files with labels in the service")
    made = verbs.add("add", run_add, "upload a file: CSV, JSON lines, Parquet, NPZ, or a zip of images")
    made.add_argument("file", type=Path)
    made.add_argument("--name", help="default: the file's")
    made.add_argument("--label", help="the column of the labels")
    made.add_argument("--text", help="the column of the texts")
    made.add_argument("--id", help="a column that names the rows")
    made.add_argument("--gold", metavar="COLUMN", help="true labels, empty where not known")
    made.add_argument("--drop", action="append", metavar="COLUMN", help="leave a column out")
    made.add_argument("--kind", choices=("image", "text", "tabular", "vectors"))
    made.add_argument("--image-size", type=int, metavar="PIXELS")
    listed = verbs.add("ls", run_ls, "datasets, newest first")
    listed.add_argument("--limit", type=int, default=50)
    verbs.add("report", run_report, "what was found in the file").add_argument("id", metavar="DATASET")
    verbs.add("rm", run_rm, "delete datasets").add_argument("id", metavar="DATASET", nargs="+")


def run_add(chosen: argparse.Namespace) -> None:
    """Upload, wait until it is read, and show what was found."""
    names = ("label", "text", "id", "gold", "drop", "kind", "image_size")
    reading = {name: getattr(chosen, name) for name in names if getattr(chosen, name) is not None}
    with remote.client(chosen) as client:
        made = client.datasets.create(chosen.file, name=chosen.name, **reading)
        report = made.report()
    remote.give(chosen, made.raw, lambda: [remote.table([made.raw], COLUMNS), *_report(report)])


def run_ls(chosen: argparse.Namespace) -> None:
    """One line a dataset."""
    with remote.client(chosen) as client:
        found = [one.raw for one in client.datasets.list(chosen.limit)]
    remote.give(
        chosen, found, lambda: [remote.table(found, COLUMNS, empty="no datasets: c2s dataset add FILE")]
    )


def run_report(chosen: argparse.Namespace) -> None:
    """Counts, what looks like a slip, and the first refused rows."""
    with remote.client(chosen) as client:
        report = client.datasets.get(chosen.id).report()
    remote.give(chosen, report, lambda: _report(report))


def run_rm(chosen: argparse.Namespace) -> None:
    """Delete one after the other."""
    with remote.client(chosen) as client:
        for dataset_id in chosen.id:
            client.datasets.delete(dataset_id)
            sys.stderr.write(f"{dataset_id} is deleted\n")
    if chosen.output == "json":
        remote.as_json({"deleted": chosen.id})


def _report(report: dict[str, Any]) -> Iterator[object]:
    if report.get("state") == "refused":
        yield remote.table(report["reasons"], ("code", "detail", "line", "entry"))
        return
    shown = ("format", "kind", "rows", "label", "imbalance")
    told = {name: report.get(name) or None for name in shown}
    for name in ("duplicates", "conflicting"):
        found = report[name]
        told[name] = f"{found['rows']} rows in {found['groups']} groups" if found["rows"] else None
    told["missing"] = ", ".join(f"{name}: {count}" for name, count in report["missing"].items()) or None
    yield remote.facts(told)
    columns = report.get("columns") or {}
    if columns.get("dropped"):
        yield "columns that are left out:"
        reasons = columns.get("reasons", {})
        left = [{"column": name, **reasons.get(name, {})} for name in columns["dropped"]]
        yield remote.table(left, ("column", "detail", "keep"))
    counts = [{"class": one["name"], "rows": one["rows"]} for one in report["classes"]]
    yield remote.table(counts[:CLASSES], ("class", "rows"))
    if len(counts) > CLASSES:
        yield f"and {len(counts) - CLASSES} more classes (-o json has them all)"
    refused = report["refused"]
    if refused["count"]:
        yield f"{refused['count']} rows were refused:"
        yield remote.table(refused["rows"][:REFUSED_ROWS], ("line", "row", "entry", "code", "detail"))
    yield from (remote.cell(f"note: {note}") for note in report["notes"])
