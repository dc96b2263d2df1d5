"""Files of rows with names, without the rows that cannot be read: what is left out is told by its line."""

from __future__ import annotations

import contextlib
import csv
import tempfile
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from c2s import errors
from c2s.reading import commas, formats, json_lines, leftout, numerals
from c2s.reading.leftout import LeftOut

if TYPE_CHECKING:
    import pyarrow as pa

Lines = Callable[[Sequence[int]], list[int] | None]


def unplaced(rows: Sequence[int]) -> None:
    """Rows of a file that has no lines."""


@dataclass
class Table:
    """The rows that could be read, those that could not, and on which lines rows stand (None: nobody knows)."""

    rows: pa.Table
    faults: list[LeftOut] = field(default_factory=list)
    lines: Lines = unplaced
    loose: AbstractSet[str] = frozenset()  # columns whose cells came without one type


def read(path: Path, strings: Sequence[str] = ()) -> Table:
    """The file as named columns; in a CSV those in `strings` are text even if they look like numbers."""
    kind = formats.suffix(path)
    if kind in (".csv", ".tsv"):
        return comma_separated(path, strings)
    return Table(formats.parquet(path)) if kind == ".parquet" else lines_of_json(path)


def whole(path: Path, strings: Sequence[str] = (), *, numbers: bool = False) -> Table:
    """The file as named columns, of which no row may be at fault; the others may be known to be numbers."""
    found = formats.table(path, strings)
    untyped = formats.suffix(path) in (".csv", ".tsv")
    return _untyped(path, found, strings, numbers=numbers) if untyped else Table(found)


def _untyped(path: Path, found: pa.Table, strings: Sequence[str], *, numbers: bool = False) -> Table:
    """The table of a CSV."""
    loose = set(found.column_names) - set(strings)
    if commas.decimal_point(path, commas.delimiter(path)) == ",":
        found = numerals.dotted(found, list(loose), always=numbers)
    return Table(found, loose=loose)


def comma_separated(path: Path, strings: Sequence[str] = ()) -> Table:
    """A CSV; rows of another width than the header are left out."""
    wrong: list[formats.Width] = []
    read = _untyped(path, formats.comma_separated(path, strings, wrong), strings)
    found, sign = read.rows, commas.delimiter(path)
    gone = {one.row - 2 for one in wrong}  # Arrow counts from 1, and the header too
    lines = _lines(lambda: islice(commas.lines(path, sign), 1, None), gone, found.num_rows)
    places = _numbers(path, sign, [one.row for one in wrong])
    faults = [
        LeftOut(
            "wrong_width",
            f"the row has {one.got} columns, the header {one.wanted}",
            line=None if places is None else places[one.row],
            row=one.row - 2 if places is None else None,
        )
        for one in wrong
    ]
    return Table(found, faults, lines, read.loose)


def lines_of_json(path: Path, *, columns: int = commas.MOST_COLUMNS, share: float = leftout.SHARE) -> Table:
    """One JSON object a line; lines that are none are left out."""
    faults: list[LeftOut] = []
    loose: AbstractSet[str] = frozenset()
    try:
        found = formats.json_lines(path)
    except errors.InvalidDataset as exc:
        if isinstance(exc.__cause__, MemoryError):
            raise
        with tempfile.TemporaryDirectory() as folder:
            tidy = Path(folder) / path.name
            faults, loose = json_lines.tidy(path, tidy, columns=columns, share=share)
            found = formats.json_lines(tidy)
    gone = {fault.line for fault in faults}
    lines = _lines(
        lambda: (line for line in json_lines.filled(path) if line not in gone), set(), found.num_rows
    )
    return Table(found, faults, lines, loose)


def _numbers(path: Path, sign: str, rows: Sequence[int]) -> dict[int, int] | None:
    """The lines of these rows, which count from 1 as Arrow counts; None if they cannot be found."""
    wanted = set(rows)
    with contextlib.suppress(csv.Error, MemoryError):  # then by row
        numbered = enumerate(islice(commas.lines(path, sign), max(rows, default=0)), 1)
        found = {row: line for row, line in numbered if row in wanted}
        if len(found) == len(wanted):
            return found
    return None


def _lines(numbers: Callable[[], Iterator[int]], gone: set[int], kept: int) -> Lines:
    """Where rows stand in the file, looked up once somebody asks; `gone` are those that the reader left out."""

    def lines(rows: Sequence[int]) -> list[int] | None:
        with contextlib.suppress(csv.Error, MemoryError):  # then by row
            found = np.fromiter((line for row, line in enumerate(numbers()) if row not in gone), np.int64)
            if len(found) == kept:  # else the reader saw other rows than we do
                return [int(found[row]) for row in rows]
        return None

    return lines
