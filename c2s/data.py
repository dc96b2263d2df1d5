"""The canonical dataset: rows as one array (or sparse bags), noisy labels as class indices, immutable.

On disk it is a folder that appears whole: `x.npy` (uint8 images, float32 vectors) or `indptr.npy`, `indices.npy`,
`weights.npy` (bags of terms), `vectors.npy` (word vectors, if the user brought some), `y.npy`, `rows.arrow`
(the user's row ids and raw labels), `gold.npy`, `amended.npy`, `given.npy` (where people know better) and `meta.json`.
Arrays are memory-mapped when read.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from c2s import errors, folders
from c2s.shape import Shape

FORMAT = 1
MORE = ("vectors", "gold", "amended", "given")  # arrays that not every dataset has, in their order
BY_PERSON, BY_MODEL = 1, 2  # who made a label what it is; 0: it is as it was given
Kind = Literal["image", "vectors", "tabular", "text"]
Label = str | int | float | bool
Labels = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Bags:
    """Sparse rows: row i holds `indices[indptr[i]:indptr[i + 1]]` with `weights` alongside, out of `width` terms."""

    indptr: npt.NDArray[np.int64]
    indices: npt.NDArray[np.int64]
    weights: npt.NDArray[np.float32]
    width: int

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @classmethod
    def of(cls, matrix: Any) -> Self:
        """The rows of a matrix, each as a bag of its columns; the matrix is CSR or dense."""
        if isinstance(matrix, np.ndarray):
            row, indices = np.nonzero(matrix)
            weights, lengths = matrix[row, indices], np.bincount(row, minlength=len(matrix))
            indptr = np.concatenate([[0], np.cumsum(lengths)])  # (n + 1,)
        else:
            indptr, indices, weights = matrix.indptr, matrix.indices, matrix.data
        return cls(indptr.astype(np.int64), indices.astype(np.int64), weights, matrix.shape[1])

    def take(self, rows: npt.NDArray[np.integer[Any]]) -> Self:
        """The bags of these rows, in this order."""
        lengths = np.diff(self.indptr)[rows]
        indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        inside = np.arange(indptr[-1]) - np.repeat(indptr[:-1], lengths)  # position inside each bag
        flat = np.repeat(self.indptr[rows], lengths) + inside
        return type(self)(indptr, self.indices[flat], self.weights[flat], self.width)


Inputs = npt.NDArray[Any] | Bags


@dataclass(frozen=True)
class Dataset:
    """Rows with noisy labels; `labels[k]` is the user's own value for class k and `classes[k]` its name."""

    x: Inputs
    y: Labels
    labels: tuple[Label, ...]
    kind: Kind
    ids: tuple[str, ...] | None = None  # the user's row ids; None: the row number
    encoding: dict[str, Any] = field(default_factory=dict)  # how raw rows became x (see c2s.reading.encoding)
    vectors: npt.NDArray[np.float32] | None = None  # the user's word vectors, one per term
    gold: Labels | None = None  # the true class of rows that somebody looked at; -1 for the others
    amended: npt.NDArray[np.int8] | None = None  # whose each label is, if some were put right
    given: Labels | None = None  # the labels before some were put right; -1: of a class that is gone

    def __post_init__(self) -> None:
        _check(self)
        for name in ("x", "y"):
            if isinstance(array := getattr(self, name), np.ndarray):
                frozen = array.view()  # the caller's own array stays writable
                frozen.setflags(write=False)
                object.__setattr__(self, name, frozen)

    def __len__(self) -> int:
        return len(self.y)

    @property
    def classes(self) -> tuple[str, ...]:
        """The class names, in the order of the matrices."""
        return tuple(str(label) for label in self.labels)

    @property
    def shape(self) -> Shape:
        """What a net must know about the rows."""
        if isinstance(self.x, Bags):
            given = None if self.vectors is None else self.vectors.shape[1]
            return Shape(kind="text", classes=len(self.labels), width=self.x.width, vectors=given)
        if self.kind == "image":
            height, width, *rest = self.x.shape[1:]
            image = (height, width, rest[0] if rest else 1)
            return Shape(kind="image", classes=len(self.labels), image=image)
        return Shape(kind=self.kind, classes=len(self.labels), width=self.x.shape[1])

    def digest(self) -> str:
        """A hash of all that training sees, for the manifest."""
        facts = json.dumps([self.kind, self.labels, self.encoding], sort_keys=True)
        total = hashlib.sha256(facts.encode())
        for _, array in sorted(_arrays(self).items()):
            total.update(f"{array.dtype}{array.shape}".encode())
            for start in range(0, len(array), 65_536):  # bounded memory over a memory map
                total.update(np.ascontiguousarray(array[start : start + 65_536]).data)
        return total.hexdigest()


def _check(dataset: Dataset) -> None:
    if len(dataset.y) == 0:
        raise errors.InvalidDataset("the dataset has no rows")
    if len(dataset.x) != len(dataset.y):
        raise errors.InvalidDataset(f"{len(dataset.x)} rows but {len(dataset.y)} labels")
    if len(dataset.labels) < 2:
        raise errors.InvalidDataset(f"at least two classes are needed, found {len(dataset.labels)} class")
    if dataset.y.min() < 0 or dataset.y.max() >= len(dataset.labels):
        raise errors.InvalidDataset("a label lies outside the classes")
    if isinstance(dataset.x, np.ndarray):
        _check_array(dataset.x, dataset.kind)


def _check_array(x: npt.NDArray[Any], kind: Kind) -> None:
    if kind == "image":
        if x.dtype != np.uint8 or x.ndim not in (3, 4):
            raise errors.InvalidDataset("images are uint8 arrays of shape (rows, height, width[, channels])")
        return
    if x.ndim != 2 or x.dtype != np.float32:
        raise errors.InvalidDataset("vectors are float32 arrays of shape (rows, width)")
    for start in range(0, len(x), 65_536):  # bounded memory over a memory map
        bad = ~np.isfinite(x[start : start + 65_536]).all(axis=1)
        if bad.any():
            raise errors.InvalidDataset(
                f"row {start + int(bad.argmax())} holds NaN, an infinity or no float32"
            )


def index_labels(raw: Sequence[Label] | npt.NDArray[Any]) -> tuple[Labels, tuple[Label, ...]]:
    """Class indices and the sorted distinct labels; labels keep the user's own type."""
    values, y = np.unique(np.asarray(raw), return_inverse=True)
    if values.dtype.kind not in "iubUSf":
        raise errors.InvalidDataset("labels must be strings, integers or booleans")
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise errors.InvalidDataset("a label is missing (NaN) or infinite")
    return y.astype(np.int64).reshape(-1), tuple(values.tolist())


def from_arrays(
    x: npt.ArrayLike, y: Sequence[Label] | npt.NDArray[Any], *, ids: tuple[str, ...] | None = None
) -> Dataset:
    """A dataset from arrays in memory: (n, d) numbers are vectors, (n, h, w[, c]) are images."""
    indices, labels = index_labels(y)
    rows, kind = as_inputs(x)
    return Dataset(rows, indices, labels, kind, ids)


def as_inputs(x: npt.ArrayLike) -> tuple[npt.NDArray[Any], Kind]:
    """Numbers as the nets take them: uint8 images or float32 vectors."""
    array = np.asarray(x)
    if array.dtype.kind not in "buif":
        raise errors.InvalidDataset(f"rows must be numbers, not {array.dtype}")
    if array.ndim in (3, 4):
        if array.dtype != np.uint8:
            if array.dtype.kind != "f" or array.min() < 0 or array.max() > 1:
                raise errors.InvalidDataset("images are uint8, or floats between 0 and 1")
            array = np.rint(array * 255).astype(np.uint8)
        return array, "image"
    if array.ndim != 2:
        raise errors.InvalidDataset(f"rows must be vectors or images, not arrays of {array.ndim} dimensions")
    with np.errstate(over="ignore"):  # what does not fit float32 becomes infinite and is refused by the check
        return array.astype(np.float32), "vectors"


def save(dataset: Dataset, folder: Path) -> None:
    """Write the dataset; it appears whole or not at all."""
    import pyarrow as pa
    import pyarrow.feather

    with folders.whole(folder) as part:
        for name, array in _arrays(dataset).items():
            np.save(part / f"{name}.npy", array, allow_pickle=False)
        ids = dataset.ids or tuple(map(str, range(len(dataset))))
        raw = [dataset.classes[k] for k in dataset.y]
        pyarrow.feather.write_feather(pa.table({"id": list(ids), "label": raw}), part / "rows.arrow")
        meta = {
            "format": FORMAT,
            "kind": dataset.kind,
            "rows": len(dataset),
            "labels": list(dataset.labels),
            "width": dataset.x.width if isinstance(dataset.x, Bags) else None,
            "encoding": dataset.encoding,
            "sha256": folders.sums(part),
        }
        folders.write_json(part / "meta.json", meta)


def _arrays(dataset: Dataset) -> dict[str, npt.NDArray[Any]]:
    found: dict[str, npt.NDArray[Any]] = {"y": dataset.y}
    if isinstance(dataset.x, Bags):
        found |= {"indptr": dataset.x.indptr, "indices": dataset.x.indices, "weights": dataset.x.weights}
    else:
        found["x"] = dataset.x
    more = {name: getattr(dataset, name) for name in MORE}
    return found | {name: array for name, array in more.items() if array is not None}


def load(folder: Path) -> Dataset:
    """Open a saved dataset without reading its rows: arrays stay on the disk until they are used."""
    import pyarrow.feather

    meta = folders.read_json(folder / "meta.json")
    if meta["format"] != FORMAT:
        raise errors.InvalidDataset(f"dataset format {meta['format']} is not known, but {FORMAT} is")
    arrays = {
        name.removesuffix(".npy"): np.load(folder / name, mmap_mode="r", allow_pickle=False)
        for name in meta["sha256"]
        if name.endswith(".npy")
    }
    x: Inputs
    if meta["width"] is None:
        x = arrays["x"]
    else:
        x = Bags(arrays["indptr"], arrays["indices"], arrays["weights"], meta["width"])
    ids = pyarrow.feather.read_table(folder / "rows.arrow", columns=["id"])["id"].to_pylist()
    y, labels = np.array(arrays["y"]), tuple(meta["labels"])
    return Dataset(x, y, labels, meta["kind"], tuple(ids), meta["encoding"], *map(arrays.get, MORE))
