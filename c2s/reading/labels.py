"""Labels of a file's rows as class indices, and their ids."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from c2s import data, errors
from c2s.reading import columns, leftout

if TYPE_CHECKING:
    import pyarrow as pa

MISSING: tuple[leftout.Code, str] = ("missing_label", "the row has no label")
LONGEST = 256  # characters; longer ones are texts, and the wrong column
INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")  # 007 is a name


def raw(values: object, name: str) -> pa.ChunkedArray:
    """Raw labels as integers, booleans, floats or strings, null where there is none."""
    import pyarrow as pa
    from pyarrow import compute, types

    column = columns.arrow(values, name)
    if types.is_floating(column.type):
        column = column.cast(pa.float64())
        return compute.if_else(compute.is_nan(column), None, column)
    if types.is_integer(column.type) or types.is_boolean(column.type):
        return column
    return columns.strings(column, name)


def index(column: pa.ChunkedArray, name: str, *, untyped: bool) -> tuple[data.Labels, tuple[data.Label, ...]]:
    """Class indices and the classes of a label column without gaps."""
    _complete(column, f"have no label in {name!r}")
    coded = column.combine_chunks().dictionary_encode()
    values = coded.dictionary.to_pylist()
    if any(isinstance(value, str) and len(value) > LONGEST for value in values):
        raise errors.InvalidDataset(f"{name!r} holds texts of over {LONGEST} characters, not labels")
    places, labels = data.index_labels(_own(values, untyped))  # of the distinct values only: rows may be many
    if len(labels) < 2:
        raise errors.InvalidDataset(f"at least two classes are needed, {name!r} holds only {labels[0]!r}")
    if len(labels) > most_classes(len(column)):
        raise errors.InvalidDataset(
            f"column {name!r} has {len(labels)} different labels in {len(column)} rows"
        )
    return places[coded.indices.to_numpy()], labels


def most_classes(rows: int) -> int:
    """More different labels than this are ids, or numbers to be predicted: no classes."""
    return max(2, rows // 2)


def _own(values: list[Any], untyped: bool) -> list[Any]:
    """Labels in the user's own type: a CSV's digits are integers, and so are floats without a fraction."""
    whole = all(isinstance(value, float) and value.is_integer() for value in values)
    if whole or (untyped and all(INTEGER.fullmatch(value) for value in values)):
        return [int(value) for value in values]
    return values


def identify(values: object, name: str) -> tuple[str, ...]:
    """The row ids, which must be there and differ."""
    column = columns.strings(columns.arrow(values, name), name)
    _complete(column, f"have no id in {name!r}")
    ids = tuple(column.to_pylist())
    if len(set(ids)) < len(ids):
        raise errors.InvalidDataset(f"the ids in {name!r} are not all different")
    return ids


def _complete(column: pa.ChunkedArray, what: str) -> None:
    if len(column) == 0:
        raise errors.InvalidDataset("the file has no rows")
    missing = np.flatnonzero(column.is_null().to_numpy())
    if len(missing):
        shown = ", ".join(map(str, missing[:5])) + (", ..." if len(missing) > 5 else "")
        raise errors.InvalidDataset(f"{len(missing)} of {len(column)} rows {what}: {shown}")
