"""How a user's raw rows become what the nets take: learnt once from the training data, kept as plain data in the card.

The same `apply` encodes the rows of training and of prediction, so the two cannot drift apart.
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Annotated, Any, Literal, assert_never

import numpy as np
import numpy.typing as npt
from pydantic import Field, PositiveInt, TypeAdapter, ValidationError

from c2s import data, errors, schema
from c2s.reading import columns, numerals, rows, unused, words

if TYPE_CHECKING:
    import pyarrow as pa

Column = Annotated[columns.Number | columns.Category, Field(discriminator="kind")]


class TableEncoding(schema.Config):
    """Columns side by side, each by its own rule."""

    kind: Literal["tabular"] = "tabular"
    columns: Annotated[tuple[Column, ...], Field(min_length=1)]
    dropped: tuple[
        str, ...
    ] = ()  # columns that say nothing: constant, empty, or a name of its own in every row

    @property
    def width(self) -> int:
        return sum(column.width for column in self.columns)


class VectorEncoding(schema.Config):
    """Numbers as they are."""

    kind: Literal["vectors"] = "vectors"
    width: PositiveInt
    columns: tuple[str, ...] | None = None  # where a table keeps the numbers; None: rows are an array


class ImageEncoding(schema.Config):
    """Pixels as they are."""

    kind: Literal["image"] = "image"
    height: PositiveInt
    width: PositiveInt
    channels: PositiveInt
    unit: bool = False  # they came as numbers from 0 to 1, so that a whole 1 means white, not 1 of 255


Encoding = Annotated[
    TableEncoding | words.TextEncoding | VectorEncoding | ImageEncoding, Field(discriminator="kind")
]
_ENCODING: TypeAdapter[Encoding] = TypeAdapter(Encoding)


def parse(raw: object) -> Encoding:
    """Read an encoding back from plain data."""
    try:
        return _ENCODING.validate_python(raw)
    except ValidationError as exc:
        first = exc.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "encoding"
        raise errors.InvalidModel(
            f"the encoding of the rows cannot be read: {where}: {first['msg']}"
        ) from exc


def of(dataset: data.Dataset) -> Encoding:
    """The dataset's encoding; one that was made from arrays takes arrays of the same shape."""
    if dataset.encoding:
        return parse(dataset.encoding)
    if isinstance(dataset.x, data.Bags):
        raise errors.InvalidDataset("bags of terms do not say how texts become bags")
    return from_array(dataset.x)


def from_array(array: npt.NDArray[Any]) -> VectorEncoding | ImageEncoding:
    """(n, d) numbers are vectors, (n, h, w[, c]) are images."""
    if array.ndim not in (2, 3, 4) or 0 in array.shape[1:]:
        raise errors.InvalidDataset(f"rows must be vectors or images, not an array of shape {array.shape}")
    if array.ndim == 2:
        return VectorEncoding(width=array.shape[1])
    height, width, channels = (*array.shape[1:], 1)[:3]
    return ImageEncoding(height=height, width=width, channels=channels, unit=array.dtype.kind == "f")


def learn(raw: object, *, loose: AbstractSet[str] = frozenset()) -> TableEncoding:
    """Learn how to encode named columns, of which the loose ones came without a type.

    They are an Arrow table, a mapping of columns, or a list of mappings.
    """
    table = rows.table(raw)
    if table.num_columns and table.num_rows == 0:
        raise errors.InvalidDataset("the table has no rows")
    found = {
        name: columns.learn(name, table.column(name), loose=name in loose) for name in table.column_names
    }
    dropped = tuple(name for name, column in found.items() if isinstance(column, str))
    if len(dropped) == len(found):
        where = ", ".join(map(repr, dropped)) or "a table without columns"
        raise errors.InvalidDataset(f"there is nothing to learn from in {where}")
    used = tuple(column for column in found.values() if not isinstance(column, str))
    return TableEncoding(columns=used, dropped=dropped)


def silent(
    spec: TableEncoding, raw: object, *, loose: AbstractSet[str] = frozenset()
) -> dict[str, unused.Silent]:
    """Why each column that was left out of what was learnt from these rows says nothing."""
    table = rows.table(raw, list(spec.dropped))
    found = {name: columns.learn(name, table.column(name), loose=name in loose) for name in spec.dropped}
    return {name: why for name, why in found.items() if isinstance(why, str)}


def left_out(
    spec: Encoding,
    raw: "pa.Table",
    aside: Mapping[str, unused.Aside],
    *,
    loose: AbstractSet[str] = frozenset(),
) -> list[unused.Unused]:
    """The columns that were set aside, and of the rows' own those that the encoding leaves out."""
    found = [unused.Unused(name, code) for name, code in aside.items()]
    if isinstance(spec, words.TextEncoding):
        found += [unused.Unused(name, "not_the_text") for name in raw.column_names if name != spec.column]
    if isinstance(spec, TableEncoding):
        found += [unused.Unused(name, code) for name, code in silent(spec, raw, loose=loose).items()]
    return found


def strays(spec: Encoding, raw: object) -> dict[str, tuple[int, str]]:
    """How many cells of each column of numbers hold none, and the first of them."""
    found = {}
    for column in spec.columns if isinstance(spec, TableEncoding) else ():
        if isinstance(column, columns.Number) and column.strays:
            cells = numerals.strays(rows.table(raw, [column.name]).column(0))
            found[column.name] = (len(cells), cells[0].as_py())
    return found


def remarks(found: Mapping[str, tuple[int, str]]) -> list[str]:
    """What to say of strays."""
    return [
        f"column {name!r} is read as numbers: cells that hold none count as missing"
        f" ({count}, such as {example[: numerals.LONGEST_SHOWN]!r})"
        for name, (count, example) in found.items()
    ]


def apply(spec: Encoding, raw: object) -> data.Inputs:
    """Encode raw rows: named columns, texts or an array, whichever the encoding was learnt from."""
    match spec:
        case TableEncoding():
            return _table(spec, raw)
        case words.TextEncoding():
            return words.bags(spec, texts(raw, spec.column))
        case VectorEncoding():
            return _vectors(spec, raw)
        case ImageEncoding():
            return _images(spec, raw)
        case other:
            assert_never(other)


def texts(raw: object, column: str | None = None) -> list[str]:
    """The texts of a list, an array or a named column; a missing one is empty."""
    name = column or "text"
    values = rows.table(raw, [name]).column(name) if rows.has_names(raw) else columns.arrow(raw, name)
    return [text or "" for text in columns.strings(values, name).to_pylist()]


def _table(spec: TableEncoding, raw: object) -> npt.NDArray[np.float32]:
    numeric = {column.name for column in spec.columns if isinstance(column, columns.Number)}
    table = rows.table(raw, [column.name for column in spec.columns], numeric=numeric)
    x = np.zeros((table.num_rows, spec.width), dtype=np.float32)
    start = 0
    for column in spec.columns:
        columns.fill(x[:, start : start + column.width], column, table.column(column.name))
        start += column.width
    return x


def _vectors(spec: VectorEncoding, raw: object) -> npt.NDArray[Any]:
    if spec.columns is not None and rows.has_names(raw):
        table = rows.table(raw, spec.columns)
        raw = np.stack([columns.numbers(table.column(name), name) for name in spec.columns], axis=1)
    array = _array(raw)
    if array.ndim != 2 or array.shape[1] != spec.width:
        raise errors.InvalidDataset(
            f"rows must be {spec.width} numbers wide, the array has shape {array.shape}"
        )
    x, _ = data.as_inputs(array)
    wrong = ~np.isfinite(x)
    if wrong.any():
        row, place = np.argwhere(wrong)[0]
        name = spec.columns[place] if spec.columns else int(place)
        where = f"column {name!r}, row {row}" if len(x) > 1 else f"column {name!r}"
        said = f"{where} holds NaN, an infinity or no float32"
        raise errors.InvalidDataset(said, field=name)
    return x


def _images(spec: ImageEncoding, raw: object) -> npt.NDArray[Any]:
    array = _array(raw)
    if array.ndim == 3:
        array = array[..., None]  # (n, h, w, 1)
    if array.shape[1:] != (spec.height, spec.width, spec.channels):
        wanted = f"(rows, {spec.height}, {spec.width}, {spec.channels})"
        raise errors.InvalidDataset(f"images must be {wanted}, the array has shape {array.shape}")
    if array.size and array.dtype.kind in "iub" and (spec.unit or array.dtype != np.uint8):
        low, high = array.min(), array.max()
        if spec.unit and low >= 0 and high <= 1:
            array = array.astype(np.float32)  # JSON writes 1.0 as 1
        elif array.dtype.kind in "iu" and low >= 0 and high <= 255:
            array = array.astype(np.uint8, copy=False)  # JSON knows no bytes: its integers come as int64
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        where = f"row {np.argwhere(~np.isfinite(array))[0][0]}" if len(array) > 1 else "the picture"
        raise errors.InvalidDataset(f"{where} holds NaN or an infinity")
    return data.as_inputs(array)[0] if len(array) else array.astype(np.uint8)


def _array(raw: object) -> npt.NDArray[Any]:
    if isinstance(raw, Mapping | str):
        raise errors.InvalidDataset("the rows must be an array of numbers")
    try:
        return np.asarray(raw)
    except (ValueError, TypeError) as exc:
        said = "the rows must be an array of numbers, each row as long as the others"
        raise errors.InvalidDataset(said) from exc
