"""Tables: CSV and JSON lines as raw rows, with the line of every row that cannot be used."""

from __future__ import annotations

import contextlib
import csv
import tempfile
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from app.intake import gold, json_lines, refusal, sniff
from app.intake import options as chosen
from app.intake.raw import Raw, by_row, names
from c2s import columns, commas, errors, files, formats

if TYPE_CHECKING:
    import pyarrow as pa

LONGEST_CELL = 2**24  # bytes
FLOAT32 = float(np.finfo(np.float32).max)


def comma_separated(path: Path, options: chosen.Options, limits: chosen.Limits) -> Raw:
    """A CSV; rows of the wrong width are left out."""
    sniff.check_text(path)
    head = header(path)
    check_columns(head, limits)
    label = names(options, head)
    strings = [name for name in (label, options.id, options.text, options.gold) if name is not None]
    wrong: list[formats.Width] = []
    with unreadable(path):
        found = formats.comma_separated(path, strings, wrong)
        sign = commas.delimiter(path)
    raw = assemble("csv", found, label, options=options, limits=limits)
    raw.untyped = True
    gone = {one.row - 2 for one in wrong}  # Arrow counts from 1, and the header too
    raw.places = _lines(lambda: islice(commas.lines(path, sign), 1, None), gone, found.num_rows)
    for one, place in zip(wrong, _numbers(path, sign, [one.row for one in wrong]), strict=True):
        detail = f"the row has {one.got} columns, the header {one.wanted}"
        raw.faults.append(refusal.reason("wrong_width", detail, place))
    return raw


def header(path: Path) -> list[str]:
    """The names in a CSV's first line."""
    with path.open("rb") as file:
        line = file.readline(commas.BLOCK)
    best = max(",;\t", key=lambda sign: line.count(sign.encode()))
    csv.field_size_limit(2 * commas.BLOCK)
    with path.open(encoding="utf-8-sig", newline="") as text, contextlib.suppress(csv.Error, StopIteration):
        return next(fields for fields in csv.reader(capped(text), delimiter=best) if fields)
    raise refusal.refuse("bad_header", "the first line names no columns", {"line": 1})


def capped(text: Any) -> Iterator[str]:
    """Lines, none longer than a row may be."""
    while line := text.readline(commas.BLOCK):
        yield line


def _numbers(path: Path, sign: str, rows: Sequence[int]) -> list[refusal.Place]:
    """The lines of these rows, which count from 1 as Arrow counts."""
    if not rows:
        return []
    wanted = set(rows)
    with contextlib.suppress(csv.Error, MemoryError):  # then by row
        numbered = enumerate(islice(commas.lines(path, sign), max(rows)), 1)
        found = {row: line for row, line in numbered if row in wanted}
        if len(found) == len(wanted):
            return [{"line": found[row]} for row in rows]
    return [{"row": row - 2} for row in rows]


def _lines(
    numbers: Callable[[], Iterator[int]], gone: set[int], kept: int
) -> Callable[[Sequence[int]], list[refusal.Place]]:
    """Where rows stand in the file, looked up once somebody asks; `gone` are those that the reader left out."""

    def places(rows: Sequence[int]) -> list[refusal.Place]:
        with contextlib.suppress(csv.Error, MemoryError):  # then by row
            lines = np.fromiter((line for row, line in enumerate(numbers()) if row not in gone), np.int64)
            if len(lines) == kept:  # else the reader saw other rows than we do
                return [{"line": int(lines[row])} for row in rows]
        return by_row(rows)

    return places


def lines_of_json(path: Path, options: chosen.Options, limits: chosen.Limits) -> Raw:
    """One JSON object a line; lines that are none are left out."""
    sniff.check_text(path)
    faults: list[refusal.Reason] = []
    try:
        found = formats.json_lines(path)
    except errors.InvalidDataset as exc:
        if isinstance(exc.__cause__, MemoryError):
            raise
        with tempfile.TemporaryDirectory() as folder, unreadable(path):
            tidy = Path(folder) / path.name
            faults = json_lines.tidy(path, tidy, limits)
            found = formats.json_lines(tidy)
    label = names(options, found.column_names)
    raw = assemble("jsonl", found, label, options=options, limits=limits)
    gone = {fault["line"] for fault in faults}
    raw.faults = faults
    raw.places = _lines(
        lambda: (line for line in json_lines.filled(path) if line not in gone), set(), found.num_rows
    )
    return raw


def check_columns(there: Sequence[str], limits: chosen.Limits) -> None:
    """Refuse too many columns, and two of one name."""
    if len(there) > limits.columns:
        raise too_many_columns(limits)
    if len(set(there)) < len(there):
        twice = next(name for name in there if there.count(name) > 1)
        raise refusal.refuse("bad_header", f"two columns are named {twice!r}")


def check_types(schema: pa.Schema, wanted: Sequence[str]) -> None:
    """Refuse columns whose type has no place in a table."""
    import pyarrow as pa

    for name in wanted:
        kind = schema.field(name).type
        where: refusal.Place = {"pointer": f"/{name[:256]}"}
        if pa.types.is_nested(kind):
            raise refusal.refuse("nested", f"column {name!r} holds {kind}: one value a row is needed", where)
        plain = kind.value_type if pa.types.is_dictionary(kind) else kind
        if isinstance(plain, pa.BaseExtensionType) or "binary" in str(plain) or pa.types.is_nested(plain):
            detail = f"column {name!r} holds {plain}, only numbers, dates and UTF-8 text can be used"
            raise refusal.refuse("bad_column", detail, where)


def assemble(
    form: chosen.Format, found: pa.Table, label: str, *, options: chosen.Options, limits: chosen.Limits
) -> Raw:
    """Rows, labels and ids of a table that was read."""
    if found.num_rows > limits.rows:
        raise too_many_rows(limits)
    check_columns(found.column_names, limits)
    known = options.gold or gold.marked(found, label, options)
    unused = {
        label,
        options.id,
        known,
        *options.drop,
        "",
    }  # pandas leaves its row numbers without a name
    used = [name for name in found.column_names if name not in unused]
    check_types(found.schema, [*used, label])
    ids = None if options.id is None else columns.arrow(found[options.id], options.id)
    rows = _finite(found.select(used))
    return Raw(
        form,
        rows,
        files.label_column(found[label], label),
        label,
        ids=ids,
        gold=None if known is None else columns.arrow(found[known], known),
        dropped=tuple(name for name in found.column_names if name in options.drop),
    )


def long(table: Any) -> npt.NDArray[np.bool_]:
    """Which rows have a cell that is no value but a document."""
    import pyarrow.compute as pc

    long = np.zeros(table.num_rows, dtype=np.bool_)
    for column in table.columns:
        if "string" in str(column.type) and not str(column.type).startswith("dictionary"):
            long |= pc.fill_null(pc.greater(pc.binary_length(column), LONGEST_CELL), False).to_numpy()
    return long


def _finite(table: pa.Table) -> pa.Table:
    """NaN, infinities and what float32 cannot hold are missing values."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for place, (name, column) in enumerate(zip(table.column_names, table.columns, strict=True)):
        if pa.types.is_floating(column.type):
            wide = column.cast(pa.float64())
            good = pc.less_equal(pc.abs(wide), FLOAT32)  # false for NaN, null for null
            if not pc.all(good, min_count=0).as_py():
                table = table.set_column(place, name, pc.if_else(good, wide, None))
    return table


def too_many_rows(limits: chosen.Limits) -> refusal.Refused:
    """The refusal of a table that is too long."""
    return refusal.refuse("too_many_rows", f"a dataset has at most {limits.rows} rows")


def too_many_columns(limits: chosen.Limits) -> refusal.Refused:
    """The refusal of a table that is too wide."""
    return refusal.refuse(
        "too_many_columns", f"a table has at most {limits.columns} columns; save numbers as NPZ"
    )


@contextlib.contextmanager
def unreadable(path: Path) -> Iterator[None]:
    """What the library's readers refuse, as a refusal of the file."""
    try:
        yield
    except errors.InvalidDataset as exc:
        if isinstance(exc.__cause__, refusal.Refused):
            raise exc.__cause__ from exc
        if isinstance(exc.__cause__, MemoryError):
            raise
        detail = str(exc).removeprefix(f"{path.name}: ")
        code: refusal.Code = "unreadable"
        if "straddl" in detail:
            code, detail = "row_too_long", f"a row is longer than {commas.BLOCK} bytes"
        elif "no rows" in detail or "Empty" in detail:
            code = "empty"
        elif "UTF-8" in detail:
            code = "bad_encoding"
        raise refusal.refuse(code, detail) from exc
