"""The files that the paper's datasets come in; what is missing or broken is `InvalidDataset`, naming the file."""

import gzip
import json
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from c2s import errors

ENVIRONMENT = "C2S_PAPER_DATA"
Array = npt.NDArray[Any]


def present(path: Path) -> Path:
    """The path, if there is a file."""
    if not path.is_file():
        raise errors.InvalidDataset(
            f"{path} is missing: put it there, or name the data folder ({ENVIRONMENT})"
        )
    return path


def idx(root: Path, name: str) -> Array:
    """An IDX file: two zero bytes, type, number of dimensions, big-endian sizes, then bytes."""
    path = present(root / "mnist" / f"{name}-ubyte.gz")
    try:
        raw = gzip.decompress(path.read_bytes())
        sizes = struct.unpack_from(f">{raw[3]}I", raw, 4)
        return np.frombuffer(raw, np.uint8, offset=4 + 4 * raw[3]).reshape(sizes)
    except (OSError, EOFError, zlib.error, IndexError, ValueError, struct.error) as exc:
        raise errors.InvalidDataset(f"{path} is no gzipped IDX file") from exc


def npz(path: Path, *names: str) -> tuple[Array, ...]:
    """Arrays of an NPZ file, without pickle."""
    try:
        with np.load(present(path), allow_pickle=False) as arrays:
            return tuple(arrays[name] for name in names)
    except (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile) as exc:
        raise errors.InvalidDataset(f"{path} is no NPZ file with {', '.join(names)}") from exc


def cifar(path: Path, *, labels: int) -> tuple[Array, Array]:
    """Records of `labels` label bytes, the finest last, and three planes of 32 x 32."""
    raw = np.frombuffer(present(path).read_bytes(), np.uint8)
    width = labels + 3 * 32 * 32
    if not len(raw) or len(raw) % width:
        raise errors.InvalidDataset(f"{path} does not hold whole records of {width} bytes")
    records = raw.reshape(-1, width)
    images = records[:, labels:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)  # (n, 32, 32, 3)
    return np.ascontiguousarray(images), records[:, labels - 1]


def lines(path: Path) -> list[dict[str, Any]]:
    """The objects of a gzipped file of JSON lines."""
    with gzip.open(present(path), "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]
