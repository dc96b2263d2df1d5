"""Named columns: how each becomes numbers, learnt from the training table and applied to every later one.

The Arrow type of a column decides: numbers, booleans and dates are scaled, all else is a category by its text, but
for text from files without types that is numbers with a few strays.
Rows count from 0 in messages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, assert_never

import numpy as np
import numpy.typing as npt
from pydantic import PositiveFloat

from c2s import errors, schema
from c2s.reading import numerals, unused

if TYPE_CHECKING:
    import pyarrow as pa

FLOAT32 = float(np.finfo(np.float32).max)
Floats = npt.NDArray[np.float64]
Block = npt.NDArray[np.float32]


class Number(schema.Config):
    """A column of numbers, booleans or dates, brought to mean 0 and deviation 1; a missing value becomes the mean."""

    kind: Literal["number"] = "number"
    name: str
    mean: float
    scale: PositiveFloat
    missing: bool = False  # some were missing in training: one more column says which
    time: bool = False  # dates count as seconds
    strays: bool = False  # some cells were words in training: here and later these are missing values

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


def arrow(values: object, name: str) -> pa.ChunkedArray:
    """A column as Arrow, without a dictionary."""
    import pyarrow as pa

    if isinstance(values, str | bytes):
        raise errors.InvalidDataset(f"column {name!r} must be a list, not one string", field=name)
    try:
        column = values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([_array(values)])
        return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as exc:
        said = f"column {name!r} must hold one value a row, all of them numbers or all texts"
        raise errors.InvalidDataset(said, field=name) from exc


def _array(values: Any) -> pa.Array:
    import pyarrow as pa

    try:
        return pa.array(values)
    except OverflowError:  # an integer that 64 bits do not hold
        return pa.array([float(value) if type(value) is int else value for value in values])


def called(kind: pa.DataType) -> str:
    """What a column of a type that cannot be used holds, as a user would say it."""
    import pyarrow as pa

    if pa.types.is_nested(kind):
        return "lists or objects"
    return "bytes" if "binary" in str(kind) else f"values of the type {str(kind).partition('<')[0]}"


def strings(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """The column as strings, null where missing or empty."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        raise errors.InvalidDataset(
            f"column {name!r} holds {called(kind)}, only numbers, dates and UTF-8 text can be used",
            field=name,
        )
    try:
        found = column.cast(pa.string())
    except pa.ArrowException as exc:
        said = f"column {name!r} holds {called(kind)}, which cannot be read as text"
        raise errors.InvalidDataset(said, field=name) from exc
    return pc.if_else(pc.equal(found, ""), pa.scalar(None, pa.string()), found)


def numbers(column: pa.ChunkedArray, name: str, *, time: bool = False, strays: bool = False) -> Floats:
    """The column as numbers that float32 holds, NaN where there is none: an infinity is no value of anything."""
    import pyarrow as pa

    if pa.types.is_string(column.type) and not time:
        column = numerals.parsed(column, name, strays=strays)
    try:
        if time:
            column = column.cast(pa.timestamp("s"), safe=False).cast(pa.int64())
        values: Floats = column.cast(pa.float64(), safe=False).to_numpy()
    except pa.ArrowException as exc:
        wanted = "dates, written as 2024-12-31 or 2024-12-31T23:59:59" if time else "numbers"
        raise errors.InvalidDataset(f"column {name!r} must hold {wanted}", field=name) from exc
    return np.where(np.abs(values) <= FLOAT32, values, np.nan)


def narrow(values: Floats, name: str) -> Block:
    """The numbers as float32, which none may leave."""
    with np.errstate(over="ignore"):
        found = values.astype(np.float32)
    if np.isinf(found).any():
        where = f", row {np.isinf(found).argmax()}" if len(found) > 1 else ""
        said = f"column {name!r}{where}: the number is too far from the training rows for float32"
        raise errors.InvalidDataset(said, field=name)
    return found


def learn(name: str, column: pa.ChunkedArray, *, loose: bool = False) -> Number | Category | unused.Silent:
    """How this column is encoded, or why it says nothing. Text is `loose` where its file knows no types."""
    from pyarrow import types

    time = types.is_date(column.type) or types.is_timestamp(column.type)
    plain = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    if time or any(fits(column.type) for fits in plain):
        return _learn_numbers(name, numbers(column, name, time=time), time)
    found = strings(column, name)
    if loose and numerals.prevail(found):
        spec = _learn_numbers(name, numbers(found, name, strays=True), time)
        if isinstance(spec, str):
            return spec
        return spec.model_copy(update={"strays": len(numerals.strays(found)) > 0})
    return _learn_values(name, found)


def _learn_numbers(name: str, values: Floats, time: bool) -> Number | unused.Silent:
    missing = bool(np.isnan(values).any())
    present = values[~np.isnan(values)]
    if len(present) == 0:
        return "empty"
    if present.min() == present.max():  # the deviation of equal numbers need not be 0 in floating point
        return Number(name=name, mean=present[0], scale=1, missing=True, time=time) if missing else "constant"
    scale = float(present.std()) or 1.0  # tiny numbers have squares of 0
    return Number(name=name, mean=float(present.mean()), scale=scale, missing=missing, time=time)


def _learn_values(name: str, found: pa.ChunkedArray) -> Category | unused.Silent:
    counts = {pair["values"]: pair["counts"] for pair in found.value_counts().to_pylist()}
    known = sorted(
        (value for value in counts if value is not None), key=lambda value: (-counts[value], value)
    )
    kept = known[: unused.MOST_VALUES]
    if len(known) > unused.MOST_VALUES:  # a value that occurs once, among many, is a name and not a category
        kept = [value for value in kept if counts[value] > 1]
    if not kept:
        return "all_different" if known else "empty"
    other = len(kept) < len(counts)
    return Category(name=name, values=tuple(kept), other=other) if len(kept) + other > 1 else "constant"


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
    values = numbers(column, spec.name, time=spec.time, strays=spec.strays)
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
