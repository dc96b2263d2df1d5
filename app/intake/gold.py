"""True labels of some rows: which column holds them, and what they say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from app.intake import options as chosen
from app.intake import refusal
from c2s import data

if TYPE_CHECKING:
    import pyarrow as pa

UNKNOWN = {"", "-1"}  # rows that nobody looked at


def marked(found: pa.Table, label: str, options: chosen.Options) -> str | None:
    """A column named gold that holds nothing but labels and gaps: as a feature it would tell the truth."""
    taken = {label, options.text, options.id, *options.drop}
    for name in found.column_names:
        if name.lower() == chosen.GOLD and name not in taken:
            labels = {_named(value) for value in found[label].unique().to_pylist()}
            values = {_named(value) for value in found[name].unique().to_pylist()} - UNKNOWN
            return name if values and values <= labels else None
    return None


def numbers(values: list[object], classes: Sequence[str]) -> data.Labels:
    """The true class of each row, -1 where nobody looked."""
    number = dict.fromkeys(UNKNOWN, -1) | {name: k for k, name in enumerate(classes)}
    found = [_named(value) for value in values]
    if (unknown := next((name for name in found if name not in number), None)) is not None:
        detail = f"a gold label is {unknown[:100]!r}, which no row is labelled as"
        raise refusal.refuse("bad_column", detail, {"pointer": "/gold"})
    return np.array([number[name] for name in found], dtype=np.int64)


def _named(value: object) -> str:
    """A gold label as classes are named; numbers with gaps come as fractions."""
    if value is None or value != value:
        return ""
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value) if whole and isinstance(value, float) else value).strip()
