"""Named columns: how each becomes numbers, learnt from the training table and applied to every later one.

The Arrow type of a column decides: numbers, booleans and dates are scaled, all else is a category by its text.
Rows count from 0 in messages.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Literal, assert_never

import numpy as np
import numpy.typing as npt
from pydantic import PositiveFloat

from c2s import errors, schema

if TYPE_CHECKING:
    import pyarrow as pa

MOST_VALUES = 64  # of a category; the rest share one column
Floats = npt.NDArray[np.float64]
Block = npt.NDArray[np.float32]
MISSING = ["", "NA", "N/A", "NaN", "nan", "NULL", "null", "?"]  # what stands in a CSV where nothing is known
NUMBER = rb"(?<![\d.,])-?\d+%b\d+(?![\d.,])"  # with the sign between whole and fraction


class Number(schema.Config):
    """A column of numbers, booleans or dates, brought to mean 0 and deviation 1; a missing value becomes the mean."""

    kind: Literal["number"] = "number"
    name: str
    mean: float
    scale: PositiveFloat
    missing: bool = False  # some were missing in training: one more column says which
    time: bool = False  # dates count as seconds

    @property
    def width(self) -> int:
        return 1 + self.missing


class Category(schema.Config):
    """A column of names: one column of zeros and ones for each, the commonest first."""

    kind: Literal["category"] = "category"
    name: str
    values: tuple[str, ...]
    other: bool = False  # some were rare or missing in training: one more column says which

    @property
    def width(self) -> int:
        return len(self.values) + self.other


def named(raw: object) -> Mapping[str, object] | None:
    """Columns by name, if the rows have names: an Arrow table, a mapping of columns, or a list of mappings."""
    import pyarrow as pa

    if isinstance(raw, pa.Table):
        return dict(zip(raw.column_names, raw.columns, strict=True))
    if isinstance(raw, list | tuple) and raw and all(isinstance(row, Mapping) for row in raw):
        every = dict.fromkeys(name for row in raw for name in row)
        return {name: [row.get(name) for row in raw] for name in every}
    return raw if isinstance(raw, Mapping) else None


def table(
    raw: object, names: Sequence[str] | None = None, *, numeric: AbstractSet[str] = frozenset()
) -> pa.Table:
    """These columns as Arrow, in this order; all of them unless said otherwise. Numeric ones may mix 1 and "1"."""
    import pyarrow as pa

    found = named(raw)
    if found is None or not all(isinstance(name, str) for name in found):
        raise errors.InvalidDataset("the rows need named columns")
    for name in names or ():
        if name not in found:
            there = ", ".join(map(repr, found)) or "no other"
            raise errors.InvalidDataset(f"column {name!r} is missing; there is {there}", field=name)
    columns = {
        name: arrow(_spelt(found[name]) if name in numeric else found[name], name)
        for name in (found if names is None else names)
    }
    if len({len(column) for column in columns.values()}) > 1:
        raise errors.InvalidDataset("the columns differ in length")
    return pa.table(columns)


def _spelt(values: object) -> object:
    if isinstance(values, list) and any(isinstance(value, str) for value in values):
        return [str(value) if type(value) in (int, float) else value for value in values]
    return values


def arrow(values: object, name: str) -> pa.ChunkedArray:
    """A column as Arrow, without a dictionary."""
    import pyarrow as pa

    if isinstance(values, str | bytes):
        raise errors.InvalidDataset(f"column {name!r} must be a list, not one string", field=name)
    try:
        column = values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([pa.array(values)])
        return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
    except (pa.ArrowException, TypeError, ValueError) as exc:
        raise errors.InvalidDataset(f"column {name!r} cannot be read: {exc}", field=name) from exc


def strings(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """The column as strings, null where missing or empty."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        raise errors.InvalidDataset(
            f"column {name!r} holds {kind}, only numbers, dates and UTF-8 text can be used", field=name
        )
    try:
        found = column.cast(pa.string())
    except pa.ArrowException as exc:
        raise errors.InvalidDataset(f"column {name!r} cannot be read: {exc}", field=name) from exc
    return pc.if_else(pc.equal(found, ""), pa.scalar(None, pa.string()), found)


def numbers(column: pa.ChunkedArray, name: str, *, time: bool = False) -> Floats:
    """The column as finite numbers, NaN where missing."""
    import pyarrow as pa

    if pa.types.is_string(column.type) and not time:
        column = _parsed(column, name)
    try:
        if time:
            column = column.cast(pa.timestamp("s"), safe=False).cast(pa.int64())
        values: Floats = column.cast(pa.float64(), safe=False).to_numpy()
    except pa.ArrowException as exc:
        raise errors.InvalidDataset(
            f"column {name!r} must hold {'dates' if time else 'numbers'}: {exc}", field=name
        ) from exc
    narrow(values, name)
    return values


def _parsed(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Numbers that were written as text; what means "missing" in a file means it here too."""
    import pyarrow as pa

    found: list[float | None] = []
    for row, value in enumerate(column.to_pylist()):
        try:
            found.append(None if value is None or value.strip() in MISSING else float(value))
        except ValueError as exc:
            said = f"column {name!r} must hold numbers: row {row} holds {value[:40]!r}"
            raise errors.InvalidDataset(said, field=name) from exc
    return pa.chunked_array([pa.array(found, pa.float64())])


def decimal_point(sample: bytes, delimiter: str) -> str:
    """Comma where it cannot part columns and more numbers are written with it than with a point."""
    if delimiter == ",":
        return "."
    written = {sign: len(re.findall(NUMBER % re.escape(sign.encode()), sample)) for sign in (",", ".")}
    return "," if written[","] > written["."] else "."


def narrow(values: Floats, name: str) -> Block:
    """The numbers as float32, which none may leave."""
    with np.errstate(over="ignore"):
        found = values.astype(np.float32)
    if np.isinf(found).any():
        row = int(np.isinf(found).argmax())
        raise errors.InvalidDataset(
            f"column {name!r}, row {row}: {values[row]} is infinite or beyond float32", field=name
        )
    return found


def learn(name: str, column: pa.ChunkedArray) -> Number | Category | None:
    """How this column is encoded; None if it says nothing."""
    from pyarrow import types

    time = types.is_date(column.type) or types.is_timestamp(column.type)
    plain = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    if time or any(fits(column.type) for fits in plain):
        return _learn_numbers(name, numbers(column, name, time=time), time)
    return _learn_values(name, strings(column, name))


def _learn_numbers(name: str, values: Floats, time: bool) -> Number | None:
    missing = bool(np.isnan(values).any())
    present = values[~np.isnan(values)]
    if len(present) == 0:
        return None
    if present.min() == present.max():  # the deviation of equal numbers need not be 0 in floating point
        return Number(name=name, mean=present[0], scale=1, missing=True, time=time) if missing else None
    scale = float(present.std()) or 1.0  # tiny numbers have squares of 0
    return Number(name=name, mean=float(present.mean()), scale=scale, missing=missing, time=time)


def _learn_values(name: str, found: pa.ChunkedArray) -> Category | None:
    counts = {pair["values"]: pair["counts"] for pair in found.value_counts().to_pylist()}
    known = sorted(
        (value for value in counts if value is not None), key=lambda value: (-counts[value], value)
    )
    kept = known[:MOST_VALUES]
    if len(known) > MOST_VALUES:  # a value that occurs once, among many, is a name and not a category
        kept = [value for value in kept if counts[value] > 1]
    other = len(kept) < len(counts)
    return Category(name=name, values=tuple(kept), other=other) if kept and len(kept) + other > 1 else None


def fill(block: Block, spec: Number | Category, column: pa.ChunkedArray) -> None:
    """Write the encoded column into `block`, which is (rows, width of the column) and zero."""
    match spec:
        case Number():
            _fill_number(block, spec, column)
        case Category():
            _fill_category(block, spec, column)
        case other:
            assert_never(other)


def _fill_number(block: Block, spec: Number, column: pa.ChunkedArray) -> None:
    values = numbers(column, spec.name, time=spec.time)
    missing = np.isnan(values)
    block[:, 0] = narrow((np.where(missing, spec.mean, values) - spec.mean) / spec.scale, spec.name)
    if spec.missing:
        block[:, 1] = missing


def _fill_category(block: Block, spec: Category, column: pa.ChunkedArray) -> None:
    import pyarrow as pa
    import pyarrow.compute as pc

    places = pc.index_in(strings(column, spec.name), value_set=pa.array(spec.values, pa.string()))
    found = pc.fill_null(places, len(spec.values)).to_numpy()  # (rows,)
    rows = np.flatnonzero(found < block.shape[1])  # without an `other` column the unknown stays all zeros
    block[rows, found[rows]] = 1
