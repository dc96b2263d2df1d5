"""Files of rows without labels, a lot at a time: what is held does not grow with the file."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from app.intake import archive, arrays, pictures, refusal, sniff, tabular
from app.intake import options as chosen
from c2s import errors
from c2s.reading import commas, formats, json_lines, numerals
from c2s.reading import pictures as pixels

ROWS, BYTES = 2048, 2**22  # of a lot, whichever is less


@dataclass
class Lot:
    """Some rows that follow each other: named cells, or an array; `places` is where they stand in the file."""

    cells: dict[str, list[Any]] = field(default_factory=dict)
    array: npt.NDArray[Any] | None = None
    places: list[int | str] | None = None
    faults: dict[int, str] = field(default_factory=dict)  # by row of the lot


class Gathering:
    """Rows of cells on their way to a lot."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names, self._room = list(names), BYTES
        self._lot = self._fresh()

    def add(self, place: int, row: Sequence[Any], fault: str | None = None) -> None:
        """Add a row; one with a fault has no cells."""
        number = len(self._lot.places or ())
        for name, cell in zip(self._names, row or [None] * len(self._names), strict=True):
            self._lot.cells[name].append(cell)
            self._room -= len(cell) if isinstance(cell, str) else 8
        if self._lot.places is not None:
            self._lot.places.append(place)
        if fault is not None:
            self._lot.faults[number] = fault

    @property
    def full(self) -> bool:
        """Whether it is time to take the lot away."""
        return len(self._lot.places or ()) >= ROWS or self._room <= 0

    def take(self) -> Lot:
        """The lot; another is begun."""
        found, self._lot, self._room = self._lot, self._fresh(), BYTES
        return found

    def _fresh(self) -> Lot:
        return Lot({name: [] for name in self._names}, places=[])


def comma_separated(path: Path, names: Sequence[str], limits: chosen.Limits) -> Iterator[Lot]:
    """The rows of a CSV, by the lines that they begin on; those of another width than the header are at fault."""
    sniff.check_text(path)
    head = tabular.header(path)
    tabular.check_columns(head, limits)
    where = _positions(head, names)
    sign = commas.delimiter(path)
    with tabular.unreadable(path):
        commas.check_quotes(path, sign)
    csv.field_size_limit(tabular.LONGEST_CELL)
    gathering = Gathering(names)
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(tabular.capped(file), delimiter=sign)
        try:
            next(fields for fields in reader if fields)
            begin = reader.line_num + 1
            for fields in reader:
                if fields:
                    _add(gathering, begin, fields, where, width=len(head))
                begin = reader.line_num + 1
                if gathering.full:
                    yield gathering.take()
        except csv.Error as exc:
            detail = f"near line {reader.line_num}: {exc}"
            raise refusal.refuse("unreadable", detail, {"line": reader.line_num}) from exc
    yield gathering.take()


def _add(gathering: Gathering, line: int, fields: list[str], where: list[int], *, width: int) -> None:
    if len(fields) != width:
        gathering.add(line, (), f"the row has {len(fields)} columns, the header {width}")
        return
    cells = [fields[place] for place in where]
    gathering.add(line, [None if cell in numerals.MISSING else cell for cell in cells])


def _positions(head: Sequence[str], names: Sequence[str]) -> list[int]:
    for name in names:
        if name not in head:
            shown = ", ".join(map(repr, head[:20])) + (", ..." if len(head) > 20 else "")
            raise refusal.refuse("bad_header", f"the model needs a column {name!r}, there is {shown}")
    return [list(head).index(name) for name in names]


def lines_of_json(path: Path, names: Sequence[str], limits: chosen.Limits) -> Iterator[Lot]:
    """One object a line; a name that a row lacks is a missing value, one that every row lacks refuses the file."""
    sniff.check_text(path)
    gathering, unseen = Gathering(names), set(names)
    with tabular.unreadable(path):
        for number, line in json_lines.lines(path):
            found = json_lines.parsed(line)
            if isinstance(found, str):
                gathering.add(number, (), found)
            else:
                unseen -= found.keys()
                gathering.add(number, [found.get(name) for name in names])
            if gathering.full:
                yield gathering.take()
    yield gathering.take()
    if unseen:
        raise refusal.refuse("bad_header", f"the model needs {min(unseen)!r}, which no row has")


def parquet(path: Path, names: Sequence[str], limits: chosen.Limits) -> Iterator[Lot]:
    """The rows of a Parquet file."""
    from pyarrow import parquet as arrow_parquet

    with (
        tabular.unreadable(path),
        formats.reading(path, "Parquet file"),
        arrow_parquet.ParquetFile(path) as file,
    ):
        schema = file.schema_arrow
        tabular.check_columns(schema.names, limits)
        _positions(schema.names, names)
        tabular.check_types(schema, names)
        for batch in file.iter_batches(batch_size=ROWS, columns=list(names), use_threads=False):
            batch.validate(full=True)
            cells = batch.to_pydict()
            yield Lot(cells)


def npz(path: Path, limits: chosen.Limits) -> Iterator[Lot]:
    """The rows of the array `x` of an archive, or of its only one."""
    wide = limits.model_copy(update={"memory_bytes": limits.bytes})  # never all of it is in memory
    with archive.opened(path, limits) as (opened, entries):
        there = {entry.filename.removesuffix(arrays.SUFFIX): entry for entry in entries}
        name = "x" if "x" in there else next(iter(there), "")
        if len(there) != 1 and name != "x":
            raise refusal.refuse("bad_array", "the rows must be an array named 'x'")
        arrays.judge(opened, there[name], wide)
        try:
            with opened.open(there[name]) as file:
                yield from _rows(file)
        except (refusal.Refused, MemoryError):
            raise
        except Exception as exc:  # whatever damaged bytes make of an unpacker
            where: refusal.Place = {"entry": archive.shown(name)}
            raise refusal.refuse("bad_archive", "the array is damaged: it cannot be unpacked", where) from exc


def _rows(file: Any) -> Iterator[Lot]:
    shape, fortran, dtype = arrays.header(file)
    fits = dtype.kind in "buif" if len(shape) > 1 else (len(shape) == 1 and dtype.kind == "U")
    if not fits or (fortran and len(shape) > 1):
        detail = f"rows must be vectors, images or texts in C order, not {dtype} of shape {shape}"
        raise refusal.refuse("bad_array", detail)
    size = max(1, math.prod(shape[1:]) * dtype.itemsize)
    step = max(1, min(ROWS, BYTES // size))
    for start in range(0, shape[0], step):
        count = min(step, shape[0] - start)
        piece = file.read(count * size)
        if len(piece) != count * size:
            raise EOFError
        yield Lot(array=np.frombuffer(piece, dtype).reshape(count, *shape[1:]))


def packed_pictures(path: Path, limits: chosen.Limits, size: tuple[int, int, int]) -> Iterator[Lot]:
    """The pictures of an archive in the model's size, by their names; one that cannot be read is at fault."""
    with archive.opened(path, limits) as (opened, entries):
        sniff.refuse_foreign(opened)
        found = [entry for entry in entries if pictures.is_picture(entry.filename)]
        if not found:
            raise refusal.refuse("unknown_format", f"the archive holds no PNG or JPEG; {sniff.KNOWN}")
        step = max(1, min(ROWS, BYTES // math.prod(size)))
        for start in range(0, len(found), step):
            some = found[start : start + step]
            array, faults = np.zeros((len(some), *size), np.uint8), dict[int, str]()
            for number, entry in enumerate(some):
                try:
                    array[number] = pixels.decode(archive.blob(opened, entry, pictures.LARGEST), *size)
                except errors.InvalidDataset as exc:
                    faults[number] = str(exc)
            yield Lot(array=array, places=[archive.shown(entry.filename) for entry in some], faults=faults)
