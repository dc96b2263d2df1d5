"""Every label of a run as it was judged: one Parquet file in the dataset's order, read a row group at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from c2s import issues

if TYPE_CHECKING:  # whoever only computes needs no Arrow
    import pyarrow as pa

FILE, REPORT, HELD = "labels.parquet", "report.json", "held.parquet"  # of a result folder
GROUP = 2**16  # rows
CLASSES = b"c2s.classes"
LONGEST_NUMBER = 10  # digits of an id that may be a row's number


def save(
    path: Path,
    ids: Sequence[str] | None,
    classes: Sequence[str],
    y: NDArray[np.int64],
    judged: issues.Judged,
    settled: NDArray[np.int8] | None = None,
) -> None:
    """Write the file; row ids are row numbers where the user has none."""
    import json

    import pyarrow as pa
    from pyarrow import parquet

    rank = np.empty(len(y), np.int32)
    rank[issues.order(judged)] = np.arange(len(y), dtype=np.int32)
    known = np.zeros(len(y), np.int8) if settled is None else settled
    columns = {"given": y.astype(np.int32), **judged._asdict(), "rank": rank, "settled": known}
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


class Held(NamedTuple):
    """Rows held out: their ids, given classes, and what the published classifier says of them."""

    ids: list[str]
    given: NDArray[np.int64]
    predicted: NDArray[np.int64]
    probability: NDArray[np.float64]  # of the predicted class


def save_held(path: Path, held: Held) -> None:
    """Write what the classifier says of the rows held out."""
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(
        pa.table({"id": held.ids, **dict(zip(Held._fields[1:], held[1:], strict=True))}), path
    )


def load_held(path: Path) -> Held:
    """Read it."""
    from pyarrow import parquet

    table = parquet.read_table(path, use_threads=False)
    return Held(table["id"].to_pylist(), *(table[name].to_numpy() for name in Held._fields[1:]))


class Issue(NamedTuple):
    """A row by its place in the order of suspicion."""

    rank: int
    row: int  # from 0, as in the dataset
    id: str
    given: int
    suggested: int
    probability: float
    given_probability: float
    settled: int = 0  # a place in issues.SETTLED


@dataclass(frozen=True)
class Pair:
    """Which issues are wanted: given this class, suggested that one; None is any."""

    given: int | None = None
    suggested: int | None = None


class Decided(NamedTuple):
    """What people decided: rows in the dataset's order, and the class that each is to have."""

    rows: NDArray[np.int64]
    labels: issues.Places


NOTHING = Decided(np.empty(0, np.int64), np.empty(0, np.int32))
Word = Literal["kept", "corrected", "review", "reviewed", "gold"]
WORDS: tuple[Word, ...] = (*issues.DECISIONS, "reviewed", "gold")
BY_PEOPLE = tuple(WORDS.index(word) for word in ("reviewed", "gold"))


class Listed(NamedTuple):
    """A page of issues, how many of its kind there are, and how many of these are decided."""

    issues: list[Issue]
    total: int
    decided: int


class Verdicts(NamedTuple):
    """Rows of a group with the labels that they are to have; `told` are places in WORDS."""

    start: int
    table: pa.Table
    given: issues.Places
    judged: issues.Judged
    label: issues.Places
    told: NDArray[np.int8]

    @property
    def by_people(self) -> NDArray[np.bool_]:
        """Which rows people have settled, in this review, an earlier one, or by a gold label."""
        return np.isin(self.told, BY_PEOPLE)


def words(
    given: issues.Places, judged: issues.Judged, settled: NDArray[np.int8], **thresholds: float
) -> NDArray[np.int8]:
    """A place in WORDS for each row: what people have settled, then the thresholds."""
    told = issues.decide(given, judged, **thresholds)
    for place, word in enumerate(issues.SETTLED):
        if word is not None:
            told[settled == place] = WORDS.index(word)
    return told


def _settled(table: pa.Table) -> NDArray[np.int8]:
    if "settled" not in table.column_names:  # judged before it was known
        return np.zeros(len(table), np.int8)
    column: NDArray[np.int8] = table["settled"].to_numpy()
    return column


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

    def verdicts(
        self,
        decided: Decided = NOTHING,
        *,
        correct_at: float = issues.CORRECT_AT,
        keep_at: float = issues.KEEP_AT,
    ) -> Iterator[Verdicts]:
        """All rows in the dataset's order, a group at a time: a person's last word counts, then the thresholds."""
        for group in range(self._file.num_row_groups):
            table, start = self._file.read_row_group(group, use_threads=False), group * GROUP
            given = table["given"].to_numpy()
            judged = issues.Judged(*(table[name].to_numpy() for name in issues.Judged._fields))
            told = words(given, judged, _settled(table), correct_at=correct_at, keep_at=keep_at)
            as_given = np.isin(told, (WORDS.index("kept"), WORDS.index("review")))
            label = np.where(as_given, given, judged.suggested)
            first, last = np.searchsorted(decided.rows, [start, start + len(given)])
            inside = decided.rows[first:last] - start
            label[inside], told[inside] = decided.labels[first:last], WORDS.index("reviewed")
            yield Verdicts(start, table, given, judged, label, told)

    def page(
        self, pair: Pair, *, after: int, limit: int, decided: Decided = NOTHING, only: bool | None = None
    ) -> Listed:
        """The first issues beyond a rank, decided or not, as wanted; a label that is suggested as given is none."""
        given, suggested, rank = (self._column(name) for name in ("given", "suggested", "rank"))
        wanted = given != suggested
        for column, place in ((given, pair.given), (suggested, pair.suggested)):
            if place is not None:
                wanted &= column == place
        known = np.zeros(self.rows, dtype=np.bool_)
        known[decided.rows] = True
        total, done = int(wanted.sum()), int((wanted & known).sum())
        wanted &= rank > after
        if only is not None:
            wanted &= known == only
        found = np.flatnonzero(wanted)
        if len(found) > limit:
            found = found[np.argpartition(rank[found], limit - 1)[:limit]]
        return Listed(sorted(self.issues(np.sort(found))), total, done)

    def find(self, ids: Sequence[str]) -> dict[str, Issue]:
        """Rows by their ids; those that the dataset lacks are left out. Numbers are first looked for in their place."""
        numbers = {int(name) for name in ids if name.isdecimal() and len(name) < LONGEST_NUMBER}
        near = np.array(sorted(number for number in numbers if number < self.rows), dtype=np.intp)
        wanted = set(ids)
        found = {issue.id: issue for issue in self.issues(near) if issue.id in wanted}
        if left := wanted - found.keys():
            found |= {issue.id: issue for issue in self.issues(self._rows_of(left))}
        return found

    def _rows_of(self, ids: set[str]) -> NDArray[np.intp]:
        import pyarrow as pa
        import pyarrow.compute as pc

        wanted, rows = pa.array(sorted(ids)), []
        for group in range(self._file.num_row_groups):
            column = self._file.read_row_group(group, columns=["id"], use_threads=False)["id"]
            rows.append(np.flatnonzero(pc.is_in(column, wanted).to_numpy()) + group * GROUP)
        return np.concatenate(rows)

    def _column(self, name: str) -> NDArray[Any]:
        array: NDArray[Any] = self._file.read([name], use_threads=False)[name].to_numpy()
        return array

    def issues(self, rows: NDArray[np.intp]) -> Iterator[Issue]:
        """These rows, ascending, from the groups that hold them."""
        names = [
            name for name in Issue._fields if name in self._file.schema_arrow.names
        ]  # older ones settle none
        for group in np.unique(rows // GROUP).tolist():
            table = self._file.read_row_group(group, columns=names, use_threads=False)
            inside = rows[rows // GROUP == group] - group * GROUP
            for row, told in zip(inside.tolist(), table.take(inside).select(names).to_pylist(), strict=True):
                yield Issue(**told, row=row + group * GROUP)
