"""True labels of some rows in a file (gold): which column holds them, and what they say."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from c2s import data, errors
from c2s.reading import unused

if TYPE_CHECKING:
    import pyarrow as pa

GOLD = "gold"  # what a column of true labels is called
UNKNOWN = {"", "-1"}  # rows that nobody looked at


def marked(found: pa.Table, label: str, taken: Collection[str | None]) -> str | None:
    """A column named gold, half of whose filled cells are labels: as a feature it would tell the truth."""
    for name in found.column_names:
        if name.lower() == GOLD and name != label and name not in taken:
            labels = {_named(value) for value in found[label].unique().to_pylist()}
            counts = [
                (_named(one["values"]), one["counts"]) for one in found[name].value_counts().to_pylist()
            ]
            filled = sum(count for value, count in counts if value not in UNKNOWN)
            fits = sum(count for value, count in counts if value in labels - UNKNOWN)
            return name if fits and 2 * fits >= filled else None
    return None


def same(name: str) -> str:
    """Why a column of labels cannot be that of true labels too."""
    return f"gold and label are the same column, {name!r}: the labels cannot tell which of them are true"


def counted(dataset: data.Dataset) -> list[str]:
    """How many rows have a true label."""
    if dataset.gold is None:
        return []
    return [f"{int((dataset.gold >= 0).sum())} of {len(dataset)} rows have a gold label, which is no feature"]


def remarks(features: Iterable[str], manner: unused.Manner) -> list[str]:
    """What to say of features that are named as true labels would be."""
    return [
        f"column {name!r} is a feature, as few of its cells are labels: if it tells the truth, name it as gold"
        f" ({manner('gold', name)}) or leave it out ({manner('drop', name)})"
        for name in features
        if name.lower() == GOLD
    ]


def strange(values: Sequence[object], classes: Sequence[str]) -> dict[int, str]:
    """Rows whose gold label no row is labelled as, and what is said of each; a column of nothing else is refused."""
    known = UNKNOWN | set(classes)
    said = {
        row: f"the gold label is {name[:100]!r}, which no row is labelled as"
        for row, name in enumerate(map(_named, values))
        if name not in known
    }
    if said and not any(_named(value) in known - UNKNOWN for value in values):
        raise errors.InvalidDataset(f"the column of gold labels names no class: {next(iter(said.values()))}")
    return said


def numbers(values: Sequence[object], classes: Sequence[str]) -> data.Labels:
    """The true class of each row, -1 where nobody looked."""
    number = {name: k for k, name in enumerate(classes)}
    return np.array([number.get(_named(value), -1) for value in values], dtype=np.int64)


def _named(value: object) -> str:
    """A gold label as classes are named; numbers with gaps come as fractions."""
    if value is None or value != value:
        return ""
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value) if whole and isinstance(value, float) else value).strip()
