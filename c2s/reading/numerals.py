"""Numbers that are written as text, and the few cells among them that are none.

One stray word in a column of numbers makes it text for every reader; what it tells is then lost on a net.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

from c2s import errors

if TYPE_CHECKING:
    import pyarrow as pa

MISSING = ["", "NA", "N/A", "NaN", "nan", "NULL", "null", "?"]  # what stands in a CSV where nothing is known
LEAST = 20  # numbers, and
SHARE = 0.95  # of the cells: then the others are slips
LONGEST_SHOWN = 40  # characters of a cell that a message repeats
NUMBER = r"^\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*$"
CODE = r"^\s*0[0-9]+\s*$"  # 02139 is a place, not a number
COMMA = r"^(\s*[+-]?[0-9]*),([0-9]+([eE][+-]?[0-9]+)?\s*)$"
_NUMBER = re.compile(NUMBER)


def number(text: str) -> float | None:
    """The number that a cell holds, if it holds one."""
    return float(text) if _NUMBER.match(text) else None


def exact(text: str) -> Decimal | None:
    """The same to the last digit, by which alone long numbers may differ."""
    try:
        return Decimal(text) if _NUMBER.match(text) else None
    except InvalidOperation:  # an exponent beyond all bounds
        return None


def prevail(column: pa.ChunkedArray) -> bool:
    """Whether nearly all cells of a text column are numbers, and none is a code."""
    import pyarrow.compute as pc

    filled = _filled(column)
    fit = pc.sum(pc.match_substring_regex(filled, NUMBER)).as_py() or 0
    if fit < max(LEAST, SHARE * (len(filled) - filled.null_count)):
        return False
    return not pc.any(pc.match_substring_regex(filled, CODE)).as_py()


def strays(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The cells of a text column that hold something, but no number."""
    import pyarrow.compute as pc

    filled = _filled(column)
    return filled.filter(pc.invert(pc.match_substring_regex(filled, NUMBER)))


def _filled(column: pa.ChunkedArray) -> pa.ChunkedArray:
    import pyarrow as pa
    import pyarrow.compute as pc

    blank = pc.is_in(pc.utf8_trim_whitespace(column), value_set=pa.array(MISSING, column.type))
    return pc.if_else(blank, pa.scalar(None, column.type), column)


def parsed(column: pa.ChunkedArray, name: str, *, strays: bool = False) -> pa.ChunkedArray:
    """Text as numbers, null where it means "missing"; where there are strays, so do they, else they are refused."""
    import pyarrow as pa

    found: list[float | None] = []
    for row, value in enumerate(column.to_pylist()):
        try:
            if value is None or value.strip() in MISSING:
                found.append(None)
            else:
                found.append(number(value) if strays else float(value))
        except ValueError as exc:
            where = f": row {row} holds" if len(column) > 1 else ", not"  # of one row the number says nothing
            said = f"column {name!r} must hold numbers{where} {value[:LONGEST_SHOWN]!r}"
            raise errors.InvalidDataset(said, field=name) from exc
    return pa.chunked_array([pa.array(found, pa.float64())])


def dotted(table: pa.Table, names: Sequence[str], *, always: bool = False) -> pa.Table:
    """Decimal commas as points in those text columns where numbers prevail: where none strays, Arrow reads them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for place, name in enumerate(table.column_names):
        column = table.column(place)
        if name in names and pa.types.is_string(column.type):
            found = pc.replace_substring_regex(column, COMMA, r"\1.\2")
            if always or prevail(found):
                table = table.set_column(place, name, found)
    return table
