"""Every label of a run as it was judged: one Parquet file in the dataset's order, read a row group at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from c2s.judging import issues
from c2s.naming import Came, Naming

if TYPE_CHECKING:  # whoever only computes needs no Arrow
    import pyarrow as pa

FILE, REPORT, SUMS = "labels.parquet", "report.json", "sums.json"  # of a result folder
GROUP = 2**16  # rows
CLASSES, CAME = b"c2s.classes", b"c2s.came"
LONGEST_NUMBER = 10  # digits of an id that may be a row's number


def save(
    path: Path,
    ids: Sequence[str] | None,
    classes: Sequence[str],
    y: NDArray[np.int64],
    judged: issues.Judged,
    settled: NDArray[np.int8] | None = None,
    *,
    came: Came | None = None,
) -> None:
    """Write the file; row ids are row numbers where the user has none."""
    import pyarrow as pa
    from pyarrow import parquet

    rank = np.empty(len(y), np.int32)
    rank[issues.order(judged)] = np.arange(len(y), dtype=np.int32)
    known = np.zeros(len(y), np.int8) if settled is None else settled
    columns = {"given": y.astype(np.int32), **judged._asdict(), "rank": rank, "settled": known}
    facts = {CLASSES: json.dumps(list(classes))}
    if came is not None:
        columns["came"] = came.y.astype(np.int32)
        facts[CAME] = json.dumps([came.naming.came, came.naming.become])
    kinds = ((name, pa.from_numpy_dtype(array.dtype)) for name, array in columns.items())
    schema = pa.schema([("id", pa.string()), *kinds], metadata=facts)
    with parquet.ParquetWriter(path, schema) as writer:
        for start in range(0, len(y), GROUP):
            end = min(start + GROUP, len(y))
            names = map(str, range(start, end)) if ids is None else ids[start:end]
            arrays = [pa.array(list(names)), *(pa.array(array[start:end]) for array in columns.values())]
            writer.write_table(pa.table(arrays, schema=schema))


class Issue(NamedTuple):
    """A row by its place in the order of suspicion."""

    rank: int
    row: int  # from 0, as in the dataset
    id: str
    given: int
    suggested: int
    probability: float
    given_probability: float
    came: int  # its label as the dataset has it, a place in Naming.came
    settled: int = 0  # a place in issues.SETTLED


@dataclass(frozen=True)
class Pair:
    """Which issues are wanted: given this label as it came, suggested that class; None is any."""

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
    """A page of issues, and how many of its pair are decided or not, whichever of these are wanted."""

    issues: list[Issue]
    decided: int
    undecided: int


class Verdicts(NamedTuple):
    """Rows of a group with the labels that they are to have; `told` are places in WORDS."""

    start: int
    table: pa.Table
    given: issues.Places
    came: issues.Places  # places in Naming.came
    judged: issues.Judged
    label: issues.Places
    told: NDArray[np.int8]

    @property
    def by_people(self) -> NDArray[np.bool_]:
        """Which rows people have settled, in this review, an earlier one, or by a gold label."""
        return np.isin(self.told, BY_PEOPLE)


def words(
    given: issues.Places, judged: issues.Judged, settled: NDArray[np.integer[Any]], **thresholds: float
) -> NDArray[np.int8]:
    """A place in WORDS for each row: what people have settled, then the thresholds."""
    told = issues.decide(given, judged, **thresholds)
    for place, word in enumerate(issues.SETTLED):
        if word is not None:
            told[settled == place] = WORDS.index(word)
    return told


def _column(table: pa.Table, name: str, otherwise: NDArray[Any]) -> NDArray[Any]:
    """A column that not every file has."""
    return table[name].to_numpy() if name in table.column_names else otherwise


class Reviews:
    """An open file; close it by leaving its `with`."""

    def __init__(self, path: Path) -> None:
        from pyarrow import parquet

        self._file = parquet.ParquetFile(path)
        facts = self._file.schema_arrow.metadata
        self.classes: tuple[str, ...] = tuple(json.loads(facts[CLASSES]))
        self.naming = Naming.same(self.classes)
        if CAME in facts:
            self.naming = Naming(self.classes, *map(tuple, json.loads(facts[CAME])))
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
        ids: bool = True,
    ) -> Iterator[Verdicts]:
        """All rows in the dataset's order, a group at a time: a person's last word counts, then the thresholds.

        The tables of whoever wants no `ids` lack them: they are most of the file.
        """
        names = [name for name in self._file.schema_arrow.names if ids or name != "id"]
        for group in range(self._file.num_row_groups):
            table = self._file.read_row_group(group, columns=names, use_threads=False)
            start = group * GROUP
            given = table["given"].to_numpy()
            judged = issues.Judged(*(table[name].to_numpy() for name in issues.Judged._fields))
            came, settled = _column(table, "came", given), _column(table, "settled", np.zeros_like(given))
            told = words(given, judged, settled, correct_at=correct_at, keep_at=keep_at)
            as_given = np.isin(told, (WORDS.index("kept"), WORDS.index("review")))
            label = np.where(as_given, given, judged.suggested)
            first, last = np.searchsorted(decided.rows, [start, start + len(given)])
            inside = decided.rows[first:last] - start
            label[inside], told[inside] = decided.labels[first:last], WORDS.index("reviewed")
            yield Verdicts(start, table, given, came, judged, label, told)

    def counts(self, decided: Decided = NOTHING) -> dict[str, int]:
        """How many rows each word is told of at the usual thresholds; those of people only where there are any."""
        told = np.zeros(len(WORDS), np.int64)
        for part in self.verdicts(decided, ids=False):
            told += np.bincount(part.told, minlength=len(WORDS))
        found = zip(WORDS, told.tolist(), strict=True)
        return {word: rows for word, rows in found if rows or word in issues.DECISIONS}

    def page(
        self, pair: Pair, *, after: int, limit: int, decided: Decided = NOTHING, only: bool | None = None
    ) -> Listed:
        """The first issues beyond a rank, decided or not, as wanted; a label that is suggested as given is none."""
        given, suggested, rank = (self._column(name) for name in ("given", "suggested", "rank"))
        wanted = given != suggested
        came = self._column("came") if "came" in self._file.schema_arrow.names else given
        for column, place in ((came, pair.given), (suggested, pair.suggested)):
            if place is not None:
                wanted &= column == place
        known = np.zeros(self.rows, dtype=np.bool_)
        known[decided.rows] = True
        total, done = int(wanted.sum()), int(wanted[decided.rows].sum())
        wanted &= rank > after
        if only is not None:
            wanted &= known == only
        found = np.flatnonzero(wanted)
        if len(found) > limit:
            found = found[np.argpartition(rank[found], limit - 1)[:limit]]
        return Listed(sorted(self.issues(np.sort(found))), done, total - done)

    def find(self, ids: Sequence[str]) -> dict[str, Issue]:
        """Rows by their ids; those that the dataset lacks are left out. Numbers are first looked for in their place."""
        numbers = {int(name) for name in ids if name.isdecimal() and len(name) < LONGEST_NUMBER}
        near = np.array(sorted(number for number in numbers if number < self.rows), dtype=np.intp)
        wanted = set(ids)
        found = {issue.id: issue for issue in self.issues(near) if issue.id in wanted}
        if left := wanted - found.keys():
            found |= {issue.id: issue for issue in self.issues(self._rows_of(left))}
        return found

    def gold(self) -> set[str]:
        """The ids of rows whose true label the dataset tells."""
        if "settled" not in self._file.schema_arrow.names:  # older ones settle none
            return set()
        rows = np.flatnonzero(self._column("settled") == issues.SETTLED.index("gold"))
        return {issue.id for issue in self.issues(rows)}

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
        there = self._file.schema_arrow.names  # older ones settle none
        names = [name for name in Issue._fields if name in there]
        for group in np.unique(rows // GROUP).tolist():
            table = self._file.read_row_group(group, columns=names, use_threads=False)
            inside = rows[rows // GROUP == group] - group * GROUP
            for row, told in zip(inside.tolist(), table.take(inside).select(names).to_pylist(), strict=True):
                yield Issue(**{"came": told["given"]} | told, row=row + group * GROUP)
