"""Tables: CSV and JSON lines as raw rows, with the line of every row that cannot be used."""

from __future__ import annotations

import contextlib
import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from app.intake import options as chosen
from app.intake import refusal, sniff
from app.intake.raw import Places, Raw, by_row, names
from c2s import errors
from c2s.reading import columns, commas, json_lines, labels, tables, truths, unused

if TYPE_CHECKING:
    import pyarrow as pa

LONGEST_CELL = 2**24  # bytes
EXAMPLES = 20  # lines that go with the refusal of a file


def comma_separated(path: Path, options: chosen.Options, limits: chosen.Limits) -> Raw:
    """A CSV; rows of the wrong width are left out."""
    sniff.check_text(path)
    head = header(path)
    check_columns(head, limits)
    label = names(options, head)
    strings = [name for name in (label, options.id, options.text, options.gold) if name is not None]
    with unreadable(path):
        found = tables.comma_separated(path, strings)
    raw = assemble("csv", found, label, options=options, limits=limits)
    raw.untyped = True
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


def lines_of_json(path: Path, options: chosen.Options, limits: chosen.Limits) -> Raw:
    """One JSON object a line; lines that are none are left out."""
    sniff.check_text(path)
    with unreadable(path):
        found = tables.lines_of_json(path, columns=limits.columns, share=limits.refused_share)
    label = names(options, found.rows.column_names)
    return assemble("jsonl", found, label, options=options, limits=limits)


def _places(lines: tables.Lines) -> Places:
    """Where rows stand, by their lines if these are known."""

    def places(rows: Sequence[int]) -> list[refusal.Place]:
        found = lines(rows)
        return by_row(rows) if found is None else [{"line": line} for line in found]

    return places


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
            detail = f"column {name!r} holds {columns.called(kind)}: one value a row is needed"
            raise refusal.refuse("nested", detail, where)
        plain = kind.value_type if pa.types.is_dictionary(kind) else kind
        if isinstance(plain, pa.BaseExtensionType) or "binary" in str(plain) or pa.types.is_nested(plain):
            detail = f"column {name!r} holds {columns.called(plain)}, only numbers, dates and UTF-8 text can be used"
            raise refusal.refuse("bad_column", detail, where)


def assemble(
    form: chosen.Format, read: tables.Table, label: str, *, options: chosen.Options, limits: chosen.Limits
) -> Raw:
    """Rows, labels and ids of a table that was read."""
    found = read.rows
    if found.num_rows > limits.rows:
        raise too_many_rows(limits)
    check_columns(found.column_names, limits)
    known = options.gold or truths.marked(found, label, {options.text, options.id, *options.drop})
    aside = unused.set_aside(found.column_names, id=options.id, drop=options.drop, gold=known)
    used = [name for name in found.column_names if name != label and name not in aside]
    check_types(found.schema, [*used, label])
    ids = None if options.id is None else columns.arrow(found[options.id], options.id)
    rows = _finite(found.select(used))
    return Raw(
        form,
        rows,
        labels.raw(found[label], label),
        label,
        ids=ids,
        gold=None if known is None else columns.arrow(found[known], known),
        loose=read.loose,
        places=_places(read.lines),
        faults=[refusal.of(one) for one in read.faults],
        aside=aside,
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
            good = pc.less_equal(pc.abs(wide), columns.FLOAT32)  # false for NaN, null for null
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


def _unfit(exc: json_lines.Unfit) -> refusal.Refused:
    """What makes lines unfit, where it is, and some of those that are to blame."""
    where: refusal.Place = {}
    if exc.line is not None:
        where = {"line": exc.line}
    elif exc.field is not None:
        where = {"pointer": f"/{exc.field}"[:257]}
    first = refusal.reason(exc.code, str(exc), where)
    return refusal.Refused([first, *(refusal.of(one) for one in exc.rows[:EXAMPLES])])


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
        if isinstance(exc, json_lines.Unfit):
            raise _unfit(exc) from exc
        detail = str(exc).removeprefix(f"{path.name}: ")
        code: refusal.Code = "unreadable"
        if "longer than" in detail:
            code = "row_too_long"
        elif "no rows" in detail:
            code = "empty"
        elif "UTF-8" in detail:
            code = "bad_encoding"
        raise refusal.refuse(code, detail) from exc
