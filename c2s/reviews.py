"""Every label of a run as it was judged: one Parquet file in the dataset's order, read a row group at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from c2s import issues

if TYPE_CHECKING:  # whoever only computes needs no Arrow
    import pyarrow as pa

FILE, REPORT = "labels.parquet", "report.json"  # of a result folder
GROUP = 2**16  # rows
CLASSES = b"c2s.classes"


def save(
    path: Path, ids: Sequence[str] | None, classes: Sequence[str], y: NDArray[np.int64], judged: issues.Judged
) -> None:
    """Write the file; row ids are row numbers where the user has none."""
    import json

    import pyarrow as pa
    from pyarrow import parquet

    rank = np.empty(len(y), np.int32)
    rank[issues.order(judged)] = np.arange(len(y), dtype=np.int32)
    columns = {"given": y.astype(np.int32), **judged._asdict(), "rank": rank}
    fields = [
        ("id", pa.string()),
        *((name, pa.from_numpy_dtype(array.dtype)) for name, array in columns.items()),
    ]
    schema = pa.schema(fields, metadata={CLASSES: json.dumps(list(classes))})
    with parquet.ParquetWriter(path, schema) as writer:
        for start in range(0, len(y), GROUP):
            end = min(start + GROUP, len(y))
            names = map(str, range(start, end)) if ids is None else ids[start:end]
            arrays = [pa.array(list(names)), *(pa.array(array[start:end]) for array in columns.values())]
            writer.write_table(pa.table(arrays, schema=schema))


class Issue(NamedTuple):
    """A row by its place in the order of suspicion."""

    rank: int
    id: str
    given: int
    suggested: int
    probability: float
    given_probability: float


@dataclass(frozen=True)
class Pair:
    """Which issues are wanted: given this class, suggested that one; None is any."""

    given: int | None = None
    suggested: int | None = None


class Reviews:
    """An open file; close it by leaving its `with`."""

    def __init__(self, path: Path) -> None:
        import json

        from pyarrow import parquet

        self._file = parquet.ParquetFile(path)
        self.classes: tuple[str, ...] = tuple(json.loads(self._file.schema_arrow.metadata[CLASSES]))
        self.rows: int = self._file.metadata.num_rows

    def __enter__(self) -> Reviews:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def groups(self) -> Iterator[pa.Table]:
        """All rows in the dataset's order, a table at a time."""
        for group in range(self._file.num_row_groups):
            yield self._file.read_row_group(group, use_threads=False)

    def page(self, pair: Pair, *, after: int, limit: int) -> list[Issue]:
        """The first issues beyond a rank; a label that is suggested as it was given is none."""
        given, suggested, rank = (self._column(name) for name in ("given", "suggested", "rank"))
        wanted = (given != suggested) & (rank > after)
        for column, place in ((given, pair.given), (suggested, pair.suggested)):
            if place is not None:
                wanted &= column == place
        found = np.flatnonzero(wanted)
        if len(found) > limit:
            found = found[np.argpartition(rank[found], limit - 1)[:limit]]
        return sorted(self._issues(np.sort(found)))

    def _column(self, name: str) -> NDArray[Any]:
        array: NDArray[Any] = self._file.read([name], use_threads=False)[name].to_numpy()
        return array

    def _issues(self, rows: NDArray[np.intp]) -> Iterator[Issue]:
        """These rows, ascending, from the groups that hold them."""
        names = list(Issue._fields)
        for group in np.unique(rows // GROUP).tolist():
            table = self._file.read_row_group(group, columns=names, use_threads=False)
            inside = rows[rows // GROUP == group] - group * GROUP
            yield from (Issue(**row) for row in table.take(inside).select(names).to_pylist())
