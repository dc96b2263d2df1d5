"""From a user's file to a dataset: CSV, JSON lines, Parquet and NPZ, recognised by the suffix.

Rows count from 0, as row ids do.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from c2s import columns, data, encoding, errors, formats, words

if TYPE_CHECKING:
    import pyarrow as pa

LONGEST_LABEL = 256  # characters; longer ones are texts, and the wrong column
INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")  # 007 is a name


def read(
    path: Path,
    *,
    label: str = "y",
    text: str | None = None,
    id: str | None = None,  # noqa: A002  # the option's name everywhere
    drop: Sequence[str] = (),
    word_vectors: Path | None = None,
) -> data.Dataset:
    """A training file as a dataset; texts are recognised, or `text` names their column."""
    names = [name for name in (label, id, text) if name is not None]
    rows: Any
    if formats.suffix(path) == ".npz":
        found: Any = formats.arrays(path, [text or "x", *names])
        rows = found[text or "x"]
    else:
        found = formats.table(path, names)
        _has(found.column_names, [*names, *drop])
        unused = {label, id, *drop, ""}  # pandas leaves its row numbers without a name
        rows = found.select([name for name in found.column_names if name not in unused])
    column = label_column(found[label], label)
    y, labels = index(column, label, untyped=formats.suffix(path) in (".csv", ".tsv"))
    ids = None if id is None else identify(found[id], id)
    return build(rows, y, labels, ids=ids, text=text, word_vectors=word_vectors)


def build(
    rows: pa.Table | npt.NDArray[Any],
    y: data.Labels,
    labels: tuple[data.Label, ...],
    *,
    ids: tuple[str, ...] | None = None,
    text: str | None = None,
    word_vectors: Path | None = None,
    plain: bool = False,
) -> data.Dataset:
    """A dataset of raw rows; `plain` columns are never taken for texts unless `text` names them."""
    spec, vectors = _learn(rows, text or (None if plain else _text_column(rows)), word_vectors)
    x = encoding.apply(spec, rows)
    return data.Dataset(x, y, labels, spec.kind, ids, spec.model_dump(mode="json"), vectors)


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
        raw = formats.table(path, [*texts, *extra])
        _has(raw.column_names, extra)
        inputs = raw.drop_columns(extra)
    x = encoding.apply(spec, inputs)
    return x, tuple(map(str, range(len(x)))) if id is None else identify(raw[id], id)


def _needed(spec: encoding.Encoding) -> tuple[Sequence[str], Sequence[str]]:
    """The columns that the encoding needs, and those of them that hold strings whatever they look like."""
    if isinstance(spec, encoding.TableEncoding):
        categories = [column.name for column in spec.columns if isinstance(column, columns.Category)]
        return [column.name for column in spec.columns], categories
    if isinstance(spec, words.TextEncoding):
        return [spec.column or "x"], [spec.column or "text"]
    return (), ()


def _learn(
    rows: pa.Table | npt.NDArray[Any], column: str | None, word_vectors: Path | None
) -> tuple[encoding.Encoding, npt.NDArray[np.float32] | None]:
    if column is None:
        if word_vectors is not None:
            raise errors.InvalidDataset("word vectors are for texts: name the text column")
        return encoding.from_array(rows) if isinstance(rows, np.ndarray) else encoding.learn(rows), None
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


def label_column(values: object, name: str) -> pa.ChunkedArray:
    """Raw labels as integers, booleans, floats or strings, null where there is none."""
    import pyarrow as pa
    from pyarrow import compute, types

    column = columns.arrow(values, name)
    if types.is_floating(column.type):
        column = column.cast(pa.float64())
        return compute.if_else(compute.is_nan(column), None, column)
    if types.is_integer(column.type) or types.is_boolean(column.type):
        return column
    return columns.strings(column, name)


def index(column: pa.ChunkedArray, name: str, *, untyped: bool) -> tuple[data.Labels, tuple[data.Label, ...]]:
    """Class indices and the classes of a label column without gaps."""
    _complete(column, f"have no label in {name!r}")
    coded = column.combine_chunks().dictionary_encode()
    values = coded.dictionary.to_pylist()
    if any(isinstance(value, str) and len(value) > LONGEST_LABEL for value in values):
        raise errors.InvalidDataset(f"{name!r} holds texts of over {LONGEST_LABEL} characters, not labels")
    places, labels = data.index_labels(_own(values, untyped))  # of the distinct values only: rows may be many
    if len(labels) < 2:
        raise errors.InvalidDataset(f"at least two classes are needed, {name!r} holds only {labels[0]!r}")
    if len(labels) > most_classes(len(column)):
        raise errors.InvalidDataset(
            f"column {name!r} has {len(labels)} different labels in {len(column)} rows"
        )
    return places[coded.indices.to_numpy()], labels


def most_classes(rows: int) -> int:
    """More different labels than this are ids, or numbers to be predicted: no classes."""
    return max(2, rows // 2)


def _own(values: list[Any], untyped: bool) -> list[Any]:
    """Labels in the user's own type: a CSV's digits are integers, and so are floats without a fraction."""
    whole = all(isinstance(value, float) and value.is_integer() for value in values)
    if whole or (untyped and all(INTEGER.fullmatch(value) for value in values)):
        return [int(value) for value in values]
    return values


def identify(values: object, name: str) -> tuple[str, ...]:
    """The row ids, which must be there and differ."""
    column = columns.strings(columns.arrow(values, name), name)
    _complete(column, f"have no id in {name!r}")
    ids = tuple(column.to_pylist())
    if len(set(ids)) < len(ids):
        raise errors.InvalidDataset(f"the ids in {name!r} are not all different")
    return ids


def _complete(column: pa.ChunkedArray, what: str) -> None:
    if len(column) == 0:
        raise errors.InvalidDataset("the file has no rows")
    missing = np.flatnonzero(column.is_null().to_numpy())
    if len(missing):
        shown = ", ".join(map(str, missing[:5])) + (", ..." if len(missing) > 5 else "")
        raise errors.InvalidDataset(f"{len(missing)} of {len(column)} rows {what}: {shown}")


def _has(found: Sequence[str], names: Sequence[str]) -> None:
    for name in names:
        if name not in found:
            there = ", ".join(map(repr, found))
            raise errors.InvalidDataset(f"there is no column {name!r}, only {there}")
