"""The results file: one JSON line a finished run, flushed to the disk; a line cut short by a crash does not count."""

import fcntl
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

Row = dict[str, Any]


def read(path: Path) -> list[Row]:
    """Every whole line, in order; a file that is not there yet has none."""
    if not path.is_file():
        return []
    rows = [_parsed(line) for line in path.read_bytes().splitlines()]
    return [row for row in rows if row is not None]


def newest(rows: Iterable[Row]) -> list[Row]:
    """One row a run: a preset that changed since leaves its old rows behind."""
    names = ("dataset", "noise", "method", "preset", "seed", "subset", "eta")
    return list({tuple(row[name] for name in names): row for row in rows}.values())


def fell_back(row: Row) -> bool:
    """Whether a run kept an earlier phase's model; methods of several trainings end in one of their own."""
    return not str(row.get("kept", "stage2")).startswith("stage2")


def append(path: Path, *rows: Row) -> None:
    """Add lines that are whole on the disk when this returns; several processes may share the file."""
    line = b"".join(json.dumps(row, allow_nan=False).encode() + b"\n" for row in rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab+", buffering=0) as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # freed when the file closes
        if file.seek(0, os.SEEK_END) and _last_byte(path) != b"\n":  # what a crash left half-written
            line = b"\n" + line
        file.write(line)
        os.fsync(file.fileno())


def _last_byte(path: Path) -> bytes:
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1)


def _parsed(line: bytes) -> Row | None:
    try:
        row = json.loads(line)
    except ValueError:
        return None
    return row if isinstance(row, dict) and "key" in row else None
