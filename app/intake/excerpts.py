"""Every row of a table or of texts as a person can read it: what a dataset keeps otherwise is made for nets.

One Parquet file beside the arrays, of text alone: the first columns, long cells cut. Training never sees it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pyarrow as pa

FILE = "excerpts.parquet"
COLUMNS, LONGEST = 12, 400  # characters of a cell: enough of a text to know its class by
GROUP = 2**12  # rows: what showing one of them costs


def write(path: Path, rows: pa.Table | npt.NDArray[Any]) -> None:
    """Write the file, unless the rows are numbers or pictures, which the dataset itself keeps."""
    from pyarrow import parquet

    tables = _tables(rows)
    if (first := next(tables, None)) is None:
        return
    with parquet.ParquetWriter(path, first.schema) as writer:
        writer.write_table(first)
        for table in tables:
            writer.write_table(table)


def _tables(rows: pa.Table | npt.NDArray[Any]) -> Iterator[pa.Table]:
    import pyarrow as pa

    if isinstance(rows, np.ndarray):
        if rows.dtype.kind != "U":
            return
        for start in range(0, len(rows), GROUP):
            texts = [_whole(text[:LONGEST]) for text in rows[start : start + GROUP].tolist()]
            yield pa.table({"text": pa.array(texts, pa.string())})
        return
    names = rows.column_names[:COLUMNS]
    for start in range(0, rows.num_rows, GROUP):
        part = rows.select(names).slice(start, GROUP)
        yield pa.table({name: _cut(column) for name, column in zip(names, part.columns, strict=True)})


def _whole(text: str) -> str:
    """Without halves of characters, which no file can hold."""
    return text.encode("utf-8", "replace").decode()


def _cut(column: pa.ChunkedArray) -> pa.ChunkedArray:
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        text = pc.cast(column, pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        text = pa.chunked_array(
            [pa.array([None if value is None else str(value) for value in column.to_pylist()], pa.string())]
        )
    return pc.utf8_slice_codeunits(text, 0, LONGEST)


def read(path: Path, rows: Sequence[int]) -> dict[int, dict[str, str | None]]:
    """These rows by their numbers, each a column's name and what stands there; none where nothing was kept."""
    from pyarrow import parquet

    if not path.is_file():
        return {}
    found: dict[int, dict[str, str | None]] = {}
    with parquet.ParquetFile(path) as file:
        for group in sorted({row // GROUP for row in rows}):
            inside = [row for row in rows if row // GROUP == group]
            table = file.read_row_group(group, use_threads=False).take(
                [row - group * GROUP for row in inside]
            )
            found |= dict(zip(inside, table.to_pylist(), strict=True))
    return found
