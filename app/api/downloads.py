"""Predictions as CSV, JSON lines or Parquet: from one file, a row group at a time, as fast as the client takes it."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import orjson

from app.api import acceptance, problems
from c2s import cells

if TYPE_CHECKING:  # the API starts without Arrow
    import pyarrow as pa
    from pyarrow import parquet

Form = Literal["csv", "jsonl", "parquet"]
TYPES: dict[Form, str] = {
    "csv": "text/csv",
    "jsonl": "application/x-ndjson",
    "parquet": "application/vnd.apache.parquet",
}
OTHER_NAMES: dict[str, Form] = {"application/jsonl": "jsonl"}
CLASSES, TOP = b"c2s.classes", b"c2s.top"  # of a schema's metadata, as the worker writes it
PIECE = 2**20  # bytes
DOCUMENTED: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "As CSV, JSON lines or Parquet, by `Accept` or `format`",
        "content": {kind: {"schema": {"type": "string"}} for kind in TYPES.values()},
    },
    304: {"description": "Not changed"},
}


def wanted(accept: str) -> Form:
    """The form that a client likes best."""
    known = {kind: form for form, kind in TYPES.items()} | OTHER_NAMES
    if (form := acceptance.best(accept, known)) is None:
        raise problems.NotAcceptable(f"the rows come as {', '.join(TYPES.values())}")
    return form


def stream(path: Path, form: Form) -> Iterator[bytes]:
    """The file in a form; it is open when this returns, and may be deleted while it is sent."""
    if form == "parquet":
        return _pieces(path.open("rb"))
    from pyarrow import parquet

    return _rendered(parquet.ParquetFile(path), _lines if form == "jsonl" else _rows, form)


def tables(made: Iterator[pa.Table], form: Form) -> Iterator[bytes]:
    """Tables of plain columns in a form, each sent when it is made; there is at least one."""
    if form == "parquet":
        yield from _parquet(made)
        return
    for place, table in enumerate(made):
        if form == "csv" and place == 0:
            yield _header(table.column_names)
        yield _lines(table) if form == "jsonl" else _cells(table)


def _parquet(made: Iterator[pa.Table]) -> Iterator[bytes]:
    import pyarrow as pa
    from pyarrow import parquet

    sink = _Sink()
    first = next(made)
    with parquet.ParquetWriter(pa.PythonFile(sink, mode="w"), first.schema) as writer:
        for table in itertools.chain([first], made):
            writer.write_table(table)
            yield sink.take()
    yield sink.take()


class _Sink(io.RawIOBase):
    """A file that is handed on as it is written."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._written = 0

    def writable(self) -> bool:
        return True

    def write(self, part: Any) -> int:
        self._parts.append(bytes(part))
        self._written += len(self._parts[-1])
        return len(self._parts[-1])

    def tell(self) -> int:
        return self._written

    def take(self) -> bytes:
        """What was written since the last time."""
        parts, self._parts = self._parts, []
        return b"".join(parts)


def _cells(table: pa.Table) -> bytes:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    sink = io.BytesIO()
    harmless = pa.table([_harmless(column) for column in table.columns], names=table.column_names)
    arrow_csv.write_csv(harmless, sink, arrow_csv.WriteOptions(include_header=False))
    return sink.getvalue()


def _pieces(file: Any) -> Iterator[bytes]:
    with file:
        while piece := file.read(PIECE):
            yield piece


def _rendered(file: parquet.ParquetFile, render: Callable[[pa.Table], bytes], form: Form) -> Iterator[bytes]:
    with file:
        if form == "csv":
            yield _header(_flat(file.schema_arrow.empty_table()).column_names)
        for group in range(file.num_row_groups):
            yield render(file.read_row_group(group, use_threads=False))


def _lines(table: pa.Table) -> bytes:
    """One object a row, as `/predict` has it; what a row has not is left out."""
    return b"".join(
        orjson.dumps({name: value for name, value in row.items() if value is not None}) + b"\n"
        for row in table.to_pylist()
    )


def _header(names: list[str]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(names)
    return text.getvalue().encode()


def _rows(table: pa.Table) -> bytes:
    from pyarrow import csv as arrow_csv

    sink = io.BytesIO()
    arrow_csv.write_csv(_flat(table), sink, arrow_csv.WriteOptions(include_header=False))
    return sink.getvalue()


def _flat(table: pa.Table) -> pa.Table:
    """One value a cell: a column for each class, for each of the top places, and for each side of an audit."""
    import pyarrow as pa
    import pyarrow.compute as pc

    told = table.schema.metadata
    classes: list[str] = orjson.loads(told[CLASSES])
    found: list[tuple[str, Any]] = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        if name in ("probabilities", "noisy_probabilities"):
            prefix = name.removesuffix("ies") + "y"
            found += [(f"{prefix}_{label}", pc.list_element(column, k)) for k, label in enumerate(classes)]
        elif name == "top":
            for k in range(int(told[TOP])):
                one = pc.list_element(column, k)
                found += [
                    (f"top_{k + 1}_{part}", pc.struct_field(one, part)) for part in ("class", "probability")
                ]
        elif name == "audit":
            parts = {
                "label": "label",
                "wrong": "wrong",
                "likeliest": "likeliest",
                "probability": "likeliest_probability",
            }
            found += [(shown, pc.struct_field(column, part)) for part, shown in parts.items()]
        else:
            found.append((name, column))
    return pa.table([_harmless(column) for _, column in found], names=[name for name, _ in found])


def _harmless(column: Any) -> Any:
    """A column of cells as `cells.harmless` has them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_string(column.type):
        return column
    computes = pc.and_(
        pc.match_substring_regex(column, cells.FORMULA),
        pc.invert(pc.match_substring_regex(column, cells.NUMBER)),
    )
    return pc.if_else(computes, pc.binary_join_element_wise("'", column, ""), column)
