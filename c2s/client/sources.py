"""What a user has at hand, as a body that the service reads: files, frames, columns, rows, arrays; never a pickle."""

import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from c2s.client import problems

OCTETS, PARQUET = "application/octet-stream", "application/vnd.apache.parquet"
LONGEST_NAME = 200

# A path, bytes of a file, a data frame (pandas, polars, Arrow), columns by name, rows as mappings, an array, or (x, y).
Source: TypeAlias = Any
Labels: TypeAlias = Sequence[Any] | npt.NDArray[Any]


@dataclass(frozen=True)
class Body:
    """Bytes to send, what they are, and what to call them."""

    body: bytes | Path
    kind: str = OCTETS
    name: str = "dataset"


def read(source: Source, labels: Labels | None = None) -> Body:
    """The body of anything that holds rows."""
    if labels is not None:
        return Body(arrays(source, labels))
    match source:
        case str() | os.PathLike():
            return _file(Path(source))
        case bytes() | bytearray():
            return Body(bytes(source))
        case (x, y):
            return Body(arrays(x, y))
        case np.ndarray():
            return Body(_npz(_numbers(source)))
        case _:
            return Body(_parquet(table(source)), PARQUET)


def _file(path: Path) -> Body:
    if not path.exists():
        raise problems.Unusable(f"{path}: there is no such file")
    if path.is_dir():
        raise problems.Unusable(
            f"{path}: this is a folder; name a file in it, or pack pictures into a zip, a folder for each class"
        )
    if not path.is_file():
        raise problems.Unusable(f"{path}: a pipe cannot be sent; save the rows to a file")
    return Body(path, name=path.name[:LONGEST_NAME])


def arrays(x: Any, y: Any) -> bytes:
    """Rows and their labels as an NPZ file."""
    rows, labels = _numbers(x), np.asarray(y)
    if labels.dtype.kind not in "biuU":
        labels = labels.astype(np.str_)  # objects would be pickled
    if len(rows) != len(labels):
        raise problems.Unusable(f"{len(rows)} rows have {len(labels)} labels")
    return _npz(rows, labels)


def _numbers(x: Any) -> npt.NDArray[Any]:
    found = np.asarray(x)
    if found.dtype.kind not in "biuf":
        raise problems.Unusable(
            "an array of rows must hold numbers; texts and mixed columns go in a data frame"
        )
    return found


def _npz(x: npt.NDArray[Any], y: npt.NDArray[Any] | None = None) -> bytes:
    file = io.BytesIO()
    if y is None:
        np.savez_compressed(file, allow_pickle=False, x=x)
    else:
        np.savez_compressed(file, allow_pickle=False, x=x, y=y)
    return file.getvalue()


def table(source: Any) -> Any:
    """A frame, columns by name, or rows as mappings, as an Arrow table; the index of a frame is left out."""
    import pyarrow as pa

    try:
        if hasattr(source, "iloc") and hasattr(source, "columns"):
            return pa.Table.from_pandas(source, preserve_index=False)
        if isinstance(source, Mapping):
            return pa.table({str(name): pa.array(column) for name, column in source.items()})
        if isinstance(source, Sequence):
            return pa.Table.from_pylist(list(source))
        return pa.table(source)
    except (TypeError, ValueError, AttributeError, pa.ArrowException) as exc:
        raise problems.Unusable(f"a {type(source).__name__} cannot be read as rows: {exc}") from exc


def _parquet(rows: Any) -> bytes:
    from pyarrow import parquet

    file = io.BytesIO()
    parquet.write_table(rows, file)
    return file.getvalue()
