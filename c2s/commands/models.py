"""`c2s model`: ls, promote, rollback, export."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import Any

from c2s.commands import remote

COLUMNS = ("id", "name", "version", "aliases", "method", "created_at")
REFERENCE = "an id, name@3, name@alias, or a name: its alias default, else its newest version"
NEWEST = "an id, name@3, name@alias, or a name: its newest version"


def add(commands: Any) -> None:
    """Add the commands and their options."""
    verbs = remote.Verbs(commands, "model", "published classifiers, their versions and aliases")
    listed = verbs.add("ls", run_ls, "versions, newest first")
    listed.add_argument("--name", help="of this name only")
    listed.add_argument("--limit", type=int, default=50)
    moved = verbs.add("promote", run_promote, "point an alias at a version")
    moved.add_argument("model", metavar="MODEL", help=NEWEST)
    moved.add_argument("--alias", default="default", help="default: default, which a plain name stands for")
    moved.add_argument("--etag", help="what the alias was when you decided; exit with 2 if it moved since")
    back = verbs.add("rollback", run_rollback, "point an alias at what it pointed at before")
    back.add_argument("name", metavar="NAME", help="or the id of any version of it")
    back.add_argument("--alias", default="default")
    exported = verbs.add("export", run_export, "a version as a zip to carry away")
    exported.add_argument("model", metavar="MODEL", help=REFERENCE)
    exported.add_argument("--format", choices=("onnx", "safetensors", "noise-model"), default="onnx")
    exported.add_argument("--out", type=Path, help="default: MODEL-FORMAT.zip here")


def run_ls(chosen: argparse.Namespace) -> None:
    """One line a version."""
    with remote.client(chosen) as client:
        found = [one.raw for one in client.models.list(chosen.limit, name=chosen.name)]
    lines = [{**raw, "method": (raw.get("card") or {}).get("method")} for raw in found]
    remote.give(
        chosen, found, lambda: [remote.table(lines, COLUMNS, empty="no models: c2s job run publishes one")]
    )


def run_promote(chosen: argparse.Namespace) -> None:
    """Move an alias."""
    with remote.client(chosen) as client:
        moved = client.models.promote(chosen.model, chosen.alias, etag=chosen.etag)
    remote.give(chosen, moved, lambda: [remote.facts(moved)])


def run_rollback(chosen: argparse.Namespace) -> None:
    """Move it back."""
    with remote.client(chosen) as client:
        moved = client.models.rollback(chosen.name, chosen.alias)
    remote.give(chosen, moved, lambda: [remote.facts(moved)])


def run_export(chosen: argparse.Namespace) -> None:
    """Write the archive."""
    safe = re.sub(r"[^A-Za-z0-9_.-]+", "-", chosen.model).strip(".-") or "model"
    target = chosen.out or Path(f"{safe}-{chosen.format}.zip")
    with remote.client(chosen) as client:
        client.models.export(chosen.model, target, format=chosen.format)
    size = target.stat().st_size
    sys.stderr.write(f"{target}: {size} bytes\n")
    if chosen.output == "json":
        remote.as_json({"file": str(target), "bytes": size})
