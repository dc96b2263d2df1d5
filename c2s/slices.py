"""Rows in a folder, some at a time: read and written in memory that does not grow with their number.

The files are those of `c2s.data`. With a memory map, what was read would count as memory of the process.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

import numpy as np
import numpy.typing as npt

from c2s import data, errors, folders

BAGS = ("indptr", "indices", "weights")


class Array:
    """An `.npy` file, by its first axis."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with path.open("rb") as file:
            if np.lib.format.read_magic(file) != (1, 0):
                raise errors.InvalidDataset(f"{path.name}: an array of an unknown version")
            shape, self._fortran, self._dtype = np.lib.format.read_array_header_1_0(file)
            self._begin = file.tell()
        self._length, self._rest = shape[0], shape[1:]
        self.row_bytes = int(np.prod(self._rest, dtype=np.int64)) * self._dtype.itemsize

    def __len__(self) -> int:
        return self._length

    def read(self, start: int, stop: int) -> npt.NDArray[Any]:
        """These rows."""
        if self._fortran:
            return np.array(np.load(self._path, mmap_mode="r", allow_pickle=False)[start:stop], order="C")
        count = (stop - start) * self.row_bytes // self._dtype.itemsize
        begin = self._begin + start * self.row_bytes
        flat = np.fromfile(self._path, self._dtype, count, offset=begin)
        return flat.reshape(stop - start, *self._rest)


class Reader:
    """The rows of a dataset, or of a folder that `Writer` filled; its bytes are those that were written."""

    def __init__(self, folder: Path) -> None:
        self.meta: dict[str, Any] = folders.read_json(folder / "meta.json")
        for name, expected in self.meta["sha256"].items():
            if folders.digest(folder / name) != expected:
                raise errors.InvalidDataset(f"{name}: the bytes are not those that were written")
        names = ("x",) if self.meta["width"] is None else BAGS
        self._arrays = {name: Array(folder / f"{name}.npy") for name in names}

    def __len__(self) -> int:
        return int(self.meta["rows"])

    @property
    def row_bytes(self) -> int:
        """What a row takes, for bags on average."""
        if "x" in self._arrays:
            return self._arrays["x"].row_bytes
        return 16 * len(self._arrays["indices"]) // max(1, len(self))

    def read(self, start: int, stop: int) -> data.Inputs:
        """These rows as a net takes them."""
        if "x" in self._arrays:
            return self._arrays["x"].read(start, stop)
        indptr = self._arrays["indptr"].read(start, stop + 1)
        indices, weights = (self._arrays[name].read(int(indptr[0]), int(indptr[-1])) for name in BAGS[1:])
        return data.Bags(indptr - indptr[0], indices, weights, self.meta["width"])


class Growing:
    """An `.npy` file that grows at its end; its head says how long it is once it is closed."""

    def __init__(self, path: Path, first: npt.NDArray[Any]) -> None:
        self._file: BinaryIO = path.open("xb")
        self._dtype, self._rest, self._length = first.dtype, first.shape[1:], 0
        self._head()

    def append(self, rows: npt.NDArray[Any]) -> None:
        """Add rows of the same form."""
        self._file.write(np.ascontiguousarray(rows, dtype=self._dtype).data)
        self._length += len(rows)

    def close(self) -> None:
        """Write down the length; NumPy leaves room for it."""
        self._file.seek(0)
        self._head()
        self._file.close()

    def _head(self) -> None:
        described = {
            "descr": np.lib.format.dtype_to_descr(self._dtype),
            "fortran_order": False,
            "shape": (self._length, *self._rest),
        }
        np.lib.format.write_array_header_1_0(self._file, described)


class Writer:
    """Fills a folder with inputs; `meta.json` comes last and says that they are all there."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self._folder, self._files = folder, dict[str, Growing]()
        self.rows, self._terms = 0, 0
        self._width: int | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, _: TracebackType | None
    ) -> None:
        for file in self._files.values():
            with contextlib.nullcontext() if exc is None else contextlib.suppress(OSError):
                file.close()

    def append(self, inputs: data.Inputs) -> None:
        """Add rows; all of them have the form of the first."""
        for name, array in self._parts(inputs):
            if name not in self._files:
                self._files[name] = Growing(self._folder / f"{name}.npy", array)
            self._files[name].append(array)
        self.rows += len(inputs)

    def finish(self, **facts: object) -> None:
        """Close the files and describe them, with more facts from whoever knows them."""
        for file in self._files.values():
            file.close()
        self._files.clear()
        sums = {file.name: folders.digest(file) for file in sorted(self._folder.iterdir())}
        meta = {"format": data.FORMAT, "rows": self.rows, "width": self._width, **facts, "sha256": sums}
        folders.write_json(self._folder / "meta.json", meta)

    def _parts(self, inputs: data.Inputs) -> Iterator[tuple[str, npt.NDArray[Any]]]:
        if not isinstance(inputs, data.Bags):
            yield "x", inputs
            return
        self._width = inputs.width
        yield "indptr", (inputs.indptr if self.rows == 0 else inputs.indptr[1:]) + self._terms
        yield "indices", inputs.indices
        yield "weights", inputs.weights
        self._terms += int(inputs.indptr[-1])
