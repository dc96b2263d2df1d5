"""The first rows as the file has them, for a person to look at: what a dataset keeps is made for nets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from app.intake import report
from c2s import data

if TYPE_CHECKING:
    import pyarrow as pa

ROWS, COLUMNS = 12, 24
LONGEST = 280  # characters of a cell: enough of a text to know it by


def of(rows: pa.Table | npt.NDArray[Any], dataset: data.Dataset) -> report.Sample | None:
    """The first rows of a table or of texts; None for numbers and pictures, which the dataset itself keeps."""
    if isinstance(rows, np.ndarray):
        if rows.dtype.kind != "U":
            return None
        names, cells = ["x"], [[_cell(str(value))] for value in rows[:ROWS].tolist()]
    else:
        names = rows.column_names[:COLUMNS]
        columns = [_column(rows.column(name).slice(0, ROWS)) for name in names]
        cells = [list(line) for line in zip(*columns, strict=True)]
    ids = dataset.ids or tuple(map(str, range(len(cells))))
    return report.Sample(
        columns=tuple(names),
        left_out=0 if isinstance(rows, np.ndarray) else rows.num_columns - len(names),
        rows=tuple(
            report.SampleRow(id=ids[place], label=dataset.classes[dataset.y[place]], values=tuple(values))
            for place, values in enumerate(cells)
        ),
    )


def _column(column: pa.ChunkedArray) -> Sequence[str | None]:
    return [None if value is None else _cell(str(value)) for value in column.to_pylist()]


def _cell(text: str) -> str:
    """Cut, and without what a database or a page could not take: half characters and zeros."""
    shown = text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
    return shown.encode("utf-8", "replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")
