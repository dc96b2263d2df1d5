"""The bytes of CSV, JSON lines, Parquet and NPZ files, and of word vectors, as Arrow tables and NumPy arrays.

Lines count from 1, as editors do. Pickle is never read, and whatever a damaged file makes its reader raise becomes
`InvalidDataset`.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from c2s import errors
from c2s.reading import commas, leftout, numerals

if TYPE_CHECKING:
    import pyarrow as pa

ENDLESS: tuple[leftout.Code, str] = ("not_finite", "the row holds NaN, an infinity or no float32")
CHUNK = 2**22  # numbers that are looked at together
SUFFIXES = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".npz")
MIXED = re.compile(r"Column\(/(.*)\) changed from (\w+) to (\w+)", re.DOTALL)
WRONG_WIDTH = re.compile(r"Row #(\d+): Expected (\d+) columns, got (\d+)")


def suffix(path: Path) -> str:
    """Which format the file has; one that is not there or not known is refused."""
    _there(path)
    if path.suffix.lower() not in SUFFIXES:
        raise errors.InvalidDataset(f"{path.name}: only files that end in {', '.join(SUFFIXES)} are known")
    return path.suffix.lower()


def _there(path: Path) -> None:
    """Refuse what is not there, and what is no file: a pipe has no suffix and can be read only once."""
    if not path.exists():
        raise errors.InvalidDataset(f"{path.name}: no such file")
    if path.is_dir():
        raise errors.InvalidDataset(f"{path.resolve().name}: this is a folder; name a file in it")
    if not path.is_file():
        raise errors.InvalidDataset(f"{path.name}: a pipe cannot be read here; save the rows to a file")


@dataclass(frozen=True)
class Width:
    """A row of a CSV that has not as many columns as the header; rows count from 1, the header is the first."""

    row: int
    wanted: int
    got: int


def table(path: Path, strings: Sequence[str] = ()) -> pa.Table:
    """The file as named columns; in a CSV those in `strings` are text even if they look like numbers."""
    kind = suffix(path)
    if kind in (".csv", ".tsv"):
        return comma_separated(path, strings)
    return parquet(path) if kind == ".parquet" else json_lines(path)


def comma_separated(path: Path, strings: Sequence[str] = (), wrong: list[Width] | None = None) -> pa.Table:
    """A CSV; rows of another width than the header refuse the file, or are left out and added to `wrong`."""
    with reading(path, "CSV"):
        return checked(path, _csv(path, strings, wrong))


def json_lines(path: Path) -> pa.Table:
    """A file of one JSON object a line."""
    with reading(path, "file of JSON lines"):
        return checked(path, _json(path))


def parquet(path: Path) -> pa.Table:
    """A Parquet file, all of it."""
    with reading(path, "Parquet file"):
        return checked(path, _parquet(path), text=False)


def checked(path: Path, found: pa.Table, *, text: bool = True) -> pa.Table:
    """The table, if it has rows, different names and, in a file of text, the right encoding."""
    found.validate(full=True)  # the readers of JSON and Parquet do not look at the encoding
    for name, column in zip(found.column_names, found.columns, strict=True):
        if str(column.type) == "binary" and text:
            raise errors.InvalidDataset(
                f"{path.name}: column {name!r} is not UTF-8, save the file in that encoding"
            )
    if len(set(found.column_names)) < found.num_columns:
        raise errors.InvalidDataset(f"{path.name}: two columns have the same name")
    if found.num_rows == 0:
        raise errors.InvalidDataset(f"{path.name}: the file has no rows")
    return found


def arrays(path: Path, names: Sequence[str]) -> dict[str, npt.NDArray[Any]]:
    """These arrays of an NPZ file, which must have as many rows each."""
    with reading(path, "NPZ archive (zip)"), path.open("rb") as opened:  # np.load leaves a damaged file open
        file = np.load(opened, allow_pickle=False)
        if not isinstance(file, np.lib.npyio.NpzFile):
            raise errors.InvalidDataset(f"{path.name}: this is a single array, save it with numpy.savez")
        with file:
            for name in names:
                if name not in file:
                    there = ", ".join(map(repr, file.files)) or "none"
                    raise errors.InvalidDataset(f"{path.name}: there is no array {name!r}, only {there}")
            found = {name: np.asarray(file[name]) for name in names}
    if len({array.shape[:1] for array in found.values()}) > 1:
        shapes = ", ".join(f"{name!r} {array.shape}" for name, array in found.items())
        raise errors.InvalidDataset(f"{path.name}: the arrays differ in rows: {shapes}")
    return found


def endless(rows: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Which rows of an array are not finite as float32, in bounded memory."""
    bad = np.zeros(len(rows), dtype=np.bool_)
    if rows.dtype.kind != "f":
        return bad
    flat = rows.reshape(len(rows), -1)
    step = max(1, CHUNK // max(1, flat.shape[1]))
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range(0, len(rows), step):
            part = flat[start : start + step].astype(np.float32)
            bad[start : start + step] = ~np.isfinite(part).all(axis=1)
    return bad


def word_vectors(path: Path, wanted: AbstractSet[str]) -> tuple[list[str], npt.NDArray[Any]]:
    """The words and vectors of an NPZ file, or those wanted of a text file as GloVe and word2vec write it."""
    _there(path)
    if path.suffix.lower() == ".npz":
        found = arrays(path, ["words", "vectors"])
        if found["words"].dtype.kind != "U" or found["vectors"].dtype.kind not in "fiu":
            raise errors.InvalidDataset(f"{path.name}: `words` must be strings and `vectors` numbers")
        return found["words"].tolist(), found["vectors"]
    with reading(path, "file of words and numbers"), path.open(encoding="utf-8", newline="\n") as lines:
        return _vector_lines(lines, wanted)


def _vector_lines(lines: Iterator[str], wanted: AbstractSet[str]) -> tuple[list[str], npt.NDArray[Any]]:
    found: dict[str, npt.NDArray[np.float32]] = {}
    dimension = 0
    for number, line in enumerate(lines, 1):
        fields = line.rstrip().rsplit(" ", dimension or -1)
        if number == 1 and len(fields) == 2 and line.replace(" ", "").strip().isdecimal():
            dimension = int(fields[1])  # word2vec begins with the number of words and the dimension
            continue
        dimension = dimension or len(fields) - 1
        try:
            if dimension < 1 or len(fields) != dimension + 1:
                raise ValueError
            if fields[0] in wanted and fields[0] not in found:
                found[fields[0]] = np.array(fields[1:], dtype=np.float32)
        except ValueError as exc:
            said = f"line {number} of the word vectors is not a word and {dimension} numbers"
            raise errors.InvalidDataset(said) from exc
    return list(found), np.array(list(found.values()), dtype=np.float32).reshape(len(found), dimension)


@contextlib.contextmanager
def reading(path: Path, what: str) -> Iterator[None]:
    """Whatever the file, said to be a `what`, makes its reader raise becomes `InvalidDataset`, in our words."""
    try:
        yield
    except errors.C2SError:
        raise
    except MemoryError as exc:
        raise errors.InvalidDataset(f"{path.name}: the file needs more memory than there is") from exc
    except (
        Exception
    ) as exc:  # damaged zip, deflate, array header, JSON, Thrift: each fails in classes of its own
        raise errors.InvalidDataset(f"{path.name}: {_said(exc, what)}") from exc


def _said(exc: Exception, what: str) -> str:
    """What is wrong with a file, by what its reader says."""
    reason = str(exc)
    if isinstance(exc, UnicodeError) or "UTF8" in reason:
        return "the file is not UTF-8, save it in that encoding"
    if isinstance(exc, OSError) and exc.strerror:
        return f"the file cannot be read ({exc.strerror})"
    if (mixed := MIXED.search(reason)) is not None:
        return "column {!r} holds a {} and a {}".format(*mixed.groups())
    words = {
        "pickle": "Python objects (pickle) are never read, save plain numbers and strings",
        "straddl": f"a row is longer than {commas.BLOCK} bytes",
        "Empty ": "the file has no rows",
    }
    return next(
        (ours for theirs, ours in words.items() if theirs in reason), f"it is no {what}, or a damaged one"
    )


def _csv(path: Path, strings: Sequence[str], wrong: list[Width] | None) -> pa.Table:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    def skip(row: Any) -> str:
        left_out.append(Width(row.number, row.expected_columns, row.actual_columns))
        return "skip"

    sign = commas.delimiter(path)
    commas.check_quotes(path, sign)
    left_out: list[Width] = [] if wrong is None else wrong
    handler = None if wrong is None else skip  # Arrow only prints what a handler raises over bad UTF-8
    try:
        return arrow_csv.read_csv(
            path,
            # threads lose the line
            read_options=arrow_csv.ReadOptions(use_threads=False, block_size=_block(path)),
            parse_options=arrow_csv.ParseOptions(
                delimiter=sign, newlines_in_values=True, invalid_row_handler=handler
            ),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(strings, pa.string()),
                strings_can_be_null=True,
                null_values=numerals.MISSING,
                decimal_point=commas.decimal_point(path, sign),
            ),
        )
    except pa.ArrowInvalid as exc:
        if (odd := WRONG_WIDTH.search(str(exc))) is None:
            raise
        row, wanted, got = map(int, odd.groups())
        where = commas.place(path, row, sign)
        raise errors.InvalidDataset(f"{path.name}: {where} has {got} columns, the header {wanted}") from exc


def _json(path: Path) -> pa.Table:
    from pyarrow import json

    return json.read_json(path, read_options=json.ReadOptions(use_threads=False, block_size=_block(path)))


def _parquet(path: Path) -> pa.Table:
    from pyarrow import parquet as arrow_parquet

    with arrow_parquet.ParquetFile(
        path
    ) as file:  # unlike read_table it takes no columns from the names of folders
        return file.read()


def _block(path: Path) -> int:
    return min(commas.BLOCK, path.stat().st_size + 1)
