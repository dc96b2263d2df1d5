"""Rows with names, in whichever form they come, as one Arrow table.

Where columns are asked for, each mapping of a list must have them by itself: no row is read by what its neighbours
have. Rows count from 0 in messages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any

from c2s import errors
from c2s.reading import columns

if TYPE_CHECKING:
    import pyarrow as pa


def has_names(raw: object) -> bool:
    """Whether the rows have names: an Arrow table, a mapping of columns, or a list of mappings."""
    import pyarrow as pa

    if isinstance(raw, list | tuple):
        return bool(raw) and all(isinstance(row, Mapping) for row in raw)
    return isinstance(raw, pa.Table | Mapping)


def table(
    raw: object, names: Sequence[str] | None = None, *, numeric: AbstractSet[str] = frozenset()
) -> pa.Table:
    """These columns as Arrow, in this order; all of them unless said otherwise. Numeric ones may mix 1 and "1"."""
    import pyarrow as pa

    found = _named(raw, names)
    if not all(isinstance(name, str) for name in found):
        raise errors.InvalidDataset("the rows need named columns")
    _has(found, names or ())
    made = {
        name: columns.arrow(_spelt(found[name]) if name in numeric else found[name], name)
        for name in (found if names is None else names)
    }
    if len({len(column) for column in made.values()}) > 1:
        raise errors.InvalidDataset("the columns differ in length")
    return pa.table(made)


def _named(raw: Any, names: Sequence[str] | None) -> Mapping[str, object]:
    if not has_names(raw):
        raise errors.InvalidDataset("the rows need named columns")
    if not isinstance(raw, list | tuple):
        return raw if isinstance(raw, Mapping) else dict(zip(raw.column_names, raw.columns, strict=True))
    wanted = frozenset(names or ())
    for place, row in enumerate(raw):
        if not row.keys() >= wanted:
            _has(row, names or (), f" in row {place}" if len(raw) > 1 else "")
    every = dict.fromkeys(name for row in raw for name in row) if names is None else names
    return {name: [row.get(name) for row in raw] for name in every}


def _has(found: Mapping[str, object], names: Sequence[str], where: str = "") -> None:
    for name in names:
        if name not in found:
            there = ", ".join(map(repr, found)) or "no other"
            raise errors.InvalidDataset(f"column {name!r} is missing{where}; there is {there}", field=name)


def _spelt(values: object) -> object:
    if isinstance(values, list) and any(isinstance(value, str) for value in values):
        return [str(value) if type(value) in (int, float) else value for value in values]
    return values
