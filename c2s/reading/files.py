"""From a user's file to a dataset: CSV, JSON lines, Parquet and NPZ, recognised by the suffix.

Rows count from 0, as row ids do.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from c2s import data, errors
from c2s.reading import columns, encoding, formats, labels, leftout, tables, truths, unused, words
from c2s.reading.leftout import LeftOut

if TYPE_CHECKING:
    import pyarrow as pa


def read(  # noqa: PLR0913 - what a person may say of a file
    path: Path,
    *,
    label: str = "y",
    text: str | None = None,
    id: str | None = None,  # noqa: A002  # the option's name everywhere
    gold: str | None = None,
    drop: Sequence[str] = (),
    word_vectors: Path | None = None,
    left_out: list[LeftOut] | None = None,
    notes: list[str] | None = None,
    left_columns: list[unused.Unused] | None = None,
) -> data.Dataset:
    """A training file as a dataset; texts are recognised, or `text` names their column.

    `gold` names a column of true labels, which is no feature; one called gold that holds labels is taken unnamed.
    A row that cannot be used refuses the file, or is left out and added to `left_out`, unless there are too many.
    What looks like a slip is added to `notes`, and columns that are not learnt from to `left_columns`.
    """
    if gold == label:
        raise errors.InvalidDataset(truths.same(label))
    names = [name for name in (label, id, text, gold) if name is not None]
    rows: Any
    table, aside = None, dict[str, unused.Aside]()
    if formats.suffix(path) == ".npz":
        found: Any = formats.arrays(path, [text or "x", *names])
        rows = found[text or "x"]
    else:
        table = tables.whole(path, names) if left_out is None else tables.read(path, names)
        found = table.rows
        _has(found.column_names, [*names, *drop])
        gold = gold or truths.marked(found, label, {text, id, *drop})
        aside = unused.set_aside(found.column_names, id=id, drop=drop, gold=gold)
        rows = found.select([name for name in found.column_names if name != label and name not in aside])
    given = Given.of(found, label, gold, untyped=formats.suffix(path) in (".csv", ".tsv"))
    kept, gone = _usable(rows, given, table, strict=left_out is None)
    if left_out is not None:
        left_out += gone
    rows = rows[kept] if isinstance(rows, np.ndarray) else rows.take(kept)
    y, own = given.index(kept)
    ids = None if id is None else labels.identify(columns.arrow(found[id], id).take(kept), id)
    loose = table.loose if table else frozenset()
    made = build(rows, y, own, ids=ids, text=text, word_vectors=word_vectors, loose=loose)
    if given.gold is not None:
        made = dataclasses.replace(made, gold=given.truth(kept, made.classes))
    if notes is not None:
        notes += _remarks(made, rows)
    if left_columns is not None and table is not None:
        left_columns += encoding.left_out(encoding.of(made), rows, aside, loose=loose)
    return made


@dataclass(frozen=True)
class Given:
    """What a file says of its rows' classes."""

    labels: pa.ChunkedArray
    name: str
    untyped: bool  # labels were written without a type: digits are integers
    gold: pa.ChunkedArray | None

    @classmethod
    def of(cls, found: Any, label: str, gold: str | None, *, untyped: bool) -> Self:
        """What these columns hold."""
        true = None if gold is None else columns.arrow(found[gold], gold)
        return cls(labels.raw(found[label], label), label, untyped, true)

    def index(self, kept: data.Labels) -> tuple[data.Labels, tuple[data.Label, ...]]:
        """Class indices and classes of these rows."""
        return labels.index(self.labels.take(kept), self.name, untyped=self.untyped)

    def strange(self, kept: data.Labels) -> dict[int, str]:
        """Which of these rows have a gold label that is none of their classes."""
        if self.gold is None:
            return {}
        classes = [str(label) for label in self.index(kept)[1]]
        said = truths.strange(self.gold.take(kept).to_pylist(), classes)
        return {int(kept[place]): detail for place, detail in said.items()}

    def truth(self, kept: data.Labels, classes: Sequence[str]) -> data.Labels | None:
        """The true classes of these rows."""
        return None if self.gold is None else truths.numbers(self.gold.take(kept).to_pylist(), classes)


def _usable(
    rows: pa.Table | npt.NDArray[Any], given: Given, table: tables.Table | None, *, strict: bool
) -> tuple[data.Labels, list[LeftOut]]:
    """The places of rows that can be learnt from, and the others; if `strict` none may be left out."""
    bad = {} if strict else _faults(rows, given.labels)
    while True:
        kept = np.delete(np.arange(len(given.labels)), list(bad))
        gone = leftout.ordered([*(table.faults if table else ()), *_placed(bad, table)])
        if gone:
            leftout.check(gone, len(kept), share=0 if strict else leftout.SHARE)
        said = given.strange(kept)
        if not said:
            return kept, gone
        bad |= {row: ("bad_gold", detail) for row, detail in said.items()}  # a class may go with them


def _faults(rows: pa.Table | npt.NDArray[Any], given: pa.ChunkedArray) -> dict[int, tuple[leftout.Code, str]]:
    """Rows that have no label, or numbers without end."""
    missing = given.is_null().to_numpy()
    endless = formats.endless(rows) if isinstance(rows, np.ndarray) else np.zeros(len(missing), np.bool_)
    bad = np.flatnonzero(missing | endless).tolist()
    return {row: labels.MISSING if missing[row] else formats.ENDLESS for row in bad}


def _placed(bad: Mapping[int, tuple[leftout.Code, str]], table: tables.Table | None) -> list[LeftOut]:
    """Rows at fault, with the lines that they stand on."""
    rows = sorted(bad)
    lines = table.lines(rows) if table and rows else None
    if lines is None:
        return [LeftOut(*bad[row], row=row) for row in rows]
    return [LeftOut(*bad[row], line=line) for row, line in zip(rows, lines, strict=True)]


def build(
    rows: pa.Table | npt.NDArray[Any],
    y: data.Labels,
    own: tuple[data.Label, ...],
    *,
    ids: tuple[str, ...] | None = None,
    text: str | None = None,
    word_vectors: Path | None = None,
    plain: bool = False,
    loose: AbstractSet[str] = frozenset(),
) -> data.Dataset:
    """A dataset of raw rows; `plain` columns are never taken for texts unless `text` names them."""
    spec, vectors = _learn(rows, text or (None if plain else _text_column(rows)), word_vectors, loose)
    x = encoding.apply(spec, rows)
    return data.Dataset(x, y, own, spec.kind, ids, spec.model_dump(mode="json"), vectors)


def read_inputs(
    path: Path,
    spec: encoding.Encoding | Mapping[str, Any],
    *,
    id: str | None = None,  # noqa: A002
) -> tuple[data.Inputs, tuple[str, ...]]:
    """The rows of a file encoded as the model's training rows were, and their ids."""
    spec = encoding.parse(spec)
    names, texts = _needed(spec)
    extra = [] if id is None else [id]
    raw: Any
    if formats.suffix(path) == ".npz":
        raw = formats.arrays(path, [*(names or ["x"]), *extra])
        inputs = raw if isinstance(spec, encoding.TableEncoding) else raw[names[0] if names else "x"]
    else:
        raw = tables.whole(path, [*texts, *extra], numbers=True).rows
        _has(raw.column_names, extra)
        inputs = raw.drop_columns(extra)
    x = encoding.apply(spec, inputs)
    return x, tuple(map(str, range(len(x)))) if id is None else labels.identify(raw[id], id)


def _needed(spec: encoding.Encoding) -> tuple[Sequence[str], Sequence[str]]:
    """The columns that the encoding needs, and those of them that hold strings whatever they look like."""
    if isinstance(spec, encoding.TableEncoding):
        categories = [column.name for column in spec.columns if isinstance(column, columns.Category)]
        return [column.name for column in spec.columns], categories
    if isinstance(spec, words.TextEncoding):
        return [spec.column or "x"], [spec.column or "text"]
    return (), ()


def _remarks(made: data.Dataset, rows: pa.Table | npt.NDArray[Any]) -> list[str]:
    """How many rows are gold, and what of the columns looks like a slip."""
    spec = encoding.of(made)
    if not isinstance(spec, encoding.TableEncoding):
        return truths.counted(made)
    named_so = truths.remarks([column.name for column in spec.columns], unused.COMMAND)
    return [*truths.counted(made), *named_so, *encoding.remarks(encoding.strays(spec, rows))]


def _learn(
    rows: pa.Table | npt.NDArray[Any],
    column: str | None,
    word_vectors: Path | None,
    loose: AbstractSet[str],
) -> tuple[encoding.Encoding, npt.NDArray[np.float32] | None]:
    if column is None:
        if word_vectors is not None:
            raise errors.InvalidDataset("word vectors are for texts: name the text column")
        table = not isinstance(rows, np.ndarray)
        return encoding.learn(rows, loose=loose) if table else encoding.from_array(rows), None
    texts = encoding.texts(rows, column)
    if word_vectors is None:
        return words.learn(texts, column=column), None
    known, vectors = formats.word_vectors(word_vectors, words.vocabulary(texts))
    return words.from_vectors(known, vectors, texts, column=column)


def _text_column(rows: pa.Table | npt.NDArray[Any]) -> str | None:
    """The one column, if it holds free text: mostly distinct, mostly of several words."""
    if isinstance(rows, np.ndarray):
        return "x" if rows.dtype.kind == "U" else None
    if rows.num_columns != 1 or "string" not in str(rows.schema.types[0]):  # or large_string, string_view
        return None
    sample = rows.column(0).drop_null().slice(0, 1000).to_pylist()
    spoken = sum(len(words.split(value)) > 1 for value in sample)
    return rows.column_names[0] if min(spoken, len(set(sample))) > len(sample) / 2 else None


def _has(found: Sequence[str], names: Sequence[str]) -> None:
    for name in names:
        if name not in found:
            there = ", ".join(map(repr, found))
            raise errors.InvalidDataset(f"there is no column {name!r}, only {there}")
