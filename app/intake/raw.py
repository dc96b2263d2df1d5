"""What a reader found in a file: rows that are still raw, their labels, and the rows it had to leave out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from app.intake import options as chosen
from app.intake import refusal, report
from c2s.reading import truths, unused

if TYPE_CHECKING:
    import pyarrow as pa

Kept = npt.NDArray[np.bool_]
Places = Callable[[Sequence[int]], list[refusal.Place]]


def by_row(rows: Sequence[int]) -> list[refusal.Place]:
    """Rows by their number from 0, as row ids count."""
    return [{"row": row} for row in rows]


@dataclass
class Raw:
    """Rows in the file's order; `labels` may have gaps, `places` says where a row stands in the file."""

    format: chosen.Format
    rows: pa.Table | npt.NDArray[Any]
    labels: pa.ChunkedArray
    label: str | None
    ids: Any = None
    gold: Any = None
    untyped: bool = False  # labels were written without a type: digits are integers
    loose: AbstractSet[str] = frozenset()  # columns whose cells came without one type
    places: Places = by_row
    faults: list[refusal.Reason] = field(default_factory=list)
    aside: dict[str, unused.Aside] = field(default_factory=dict)  # columns of the file that are no features
    image: report.Image | None = None
    missing: dict[str, int] = field(default_factory=dict)

    def leave_out(self, bad: Kept, code: refusal.Code, detail: str | Sequence[str]) -> None:
        """Refuse these rows singly; what is said is the same of all, or of each its own."""
        import pyarrow as pa

        if not bad.any():
            return
        listed = np.flatnonzero(bad)
        near = self.places(listed[: report.SHOWN].tolist())
        said = [detail] * len(listed) if isinstance(detail, str) else detail
        self.faults += [refusal.reason(code, one, place) for one, place in zip(said, near, strict=False)]
        self.faults += [refusal.reason(code, one) for one in said[len(near) :]]  # only counted
        kept = ~bad
        places, numbers = self.places, np.flatnonzero(kept)
        self.places = lambda rows: places([int(numbers[row]) for row in rows])
        self.rows = self.rows[kept] if isinstance(self.rows, np.ndarray) else self.rows.filter(pa.array(kept))
        self.labels = self.labels.filter(pa.array(kept))
        if self.ids is not None:
            self.ids = self.ids.filter(pa.array(kept))
        if self.gold is not None:
            self.gold = self.gold.filter(pa.array(kept))


def names(options: chosen.Options, there: Sequence[str]) -> str:
    """The column of the labels: the one that was named, or one of the usual names."""
    found = _label(options, there)
    if options.gold == found:
        raise _same(found)
    return found


def _same(name: str) -> refusal.Refused:
    return refusal.refuse("bad_option", truths.same(name), {"parameter": "gold"})


def _label(options: chosen.Options, there: Sequence[str]) -> str:
    shown = ", ".join(map(repr, there[:20])) + (", ..." if len(there) > 20 else "")
    _has(options, there, shown)
    if options.label is not None:
        return options.label
    for usual in chosen.LABELS:
        for name in there:
            if name.lower() == usual and name not in {options.text, options.id, options.gold, *options.drop}:
                return name
    if options.gold is not None and options.gold.lower() in chosen.LABELS:  # nothing else can hold the labels
        raise _same(options.gold)
    detail = f"say which column holds the labels: none of {shown} is named {', '.join(chosen.LABELS)}"
    raise refusal.refuse("no_label_column", detail, {"parameter": "label"})


def _has(options: chosen.Options, there: Sequence[str], shown: str) -> None:
    """Refuse an option that names a column which is not there."""
    drop = [("drop", name) for name in options.drop]
    named = [("text", options.text), ("id", options.id), ("gold", options.gold), *drop]
    for parameter, wanted in (*named, ("label", options.label)):
        if wanted is not None and wanted not in there:
            code: refusal.Code = "no_label_column" if parameter == "label" else "bad_option"
            raise refusal.refuse(code, f"there is no {wanted!r}, only {shown}", {"parameter": parameter})
