"""What a reader found in a file: rows that are still raw, their labels, and the rows it had to leave out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from app.intake import options as chosen
from app.intake import refusal, report

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
    places: Places = by_row
    faults: list[refusal.Reason] = field(default_factory=list)
    dropped: tuple[str, ...] = ()
    image: report.Image | None = None
    missing: dict[str, int] = field(default_factory=dict)

    def leave_out(self, bad: Kept, code: refusal.Code, detail: str) -> None:
        """Refuse these rows singly."""
        import pyarrow as pa

        if not bad.any():
            return
        listed = np.flatnonzero(bad)
        near = self.places(listed[: report.SHOWN].tolist())
        self.faults += [refusal.reason(code, detail, place) for place in near]
        self.faults += [refusal.reason(code, detail)] * (len(listed) - len(near))  # only counted
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
        detail = f"{found!r} is the column of the labels, so it cannot tell which of them are true"
        raise refusal.refuse("bad_option", detail, {"pointer": "/gold"})
    return found


def _label(options: chosen.Options, there: Sequence[str]) -> str:
    shown = ", ".join(map(repr, there[:20])) + (", ..." if len(there) > 20 else "")
    for pointer, wanted in (("/text", options.text), ("/id", options.id), ("/gold", options.gold)):
        if wanted is not None and wanted not in there:
            detail = f"there is no {wanted!r}, only {shown}"
            raise refusal.refuse("bad_option", detail, {"pointer": pointer})
    for place, wanted in enumerate(options.drop):
        if wanted not in there:
            detail = f"there is no {wanted!r}, only {shown}"
            raise refusal.refuse("bad_option", detail, {"pointer": f"/drop/{place}"})
    if options.label is not None:
        if options.label not in there:
            detail = f"there is no {options.label!r}, only {shown}"
            raise refusal.refuse("no_label_column", detail, {"pointer": "/label"})
        return options.label
    for usual in chosen.LABELS:
        for name in there:
            if name.lower() == usual and name not in {options.text, options.id, options.gold, *options.drop}:
                return name
    detail = f"say which column holds the labels: none of {shown} is named {', '.join(chosen.LABELS)}"
    raise refusal.refuse("no_label_column", detail, {"pointer": "/label"})
