"""The paper's datasets, read from a folder the user fills: training rows with their clean labels, and a clean test set.

| name | what to put into the data folder |
|---|---|
| mnist | `mnist/` with the four IDX files, gzipped |
| news20 | `news20/` with `news20_bydate.jsonl.gz`, `label_names.json`, `glove6b_100d_news20.npz` |
| cifar10-subset | `cifar10/cifar10_subset.npz` |
| cifar10, cifar100 | `cifar-10-batches-bin/`, `cifar-100-binary/`: the binary versions, as their archives unpack |
| clothing1m | `clothing1m/train.npz` and `test.npz` with `x` (n, h, w, 3) uint8 and `y` 0..12, labels 3 and 5 merged |
"""

import gzip
import json
import os
import struct
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from c2s import data, errors, streams, words
from c2s.paper import posts

ENVIRONMENT = "C2S_PAPER_DATA"
Array = npt.NDArray[Any]
CIFAR10 = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
CLOTHING_CLASSES = 13  # Clothing1M* : 14 with two merged
NEWS20_TRAIN = 11_314


@dataclass(frozen=True)
class Source:
    """Training rows and their labels before any noise is added, and a test set that stays clean."""

    name: str
    kind: data.Kind
    labels: tuple[data.Label, ...]
    x: Array
    y: data.Labels
    x_test: Array
    y_test: data.Labels

    def labelled(self, y: data.Labels) -> data.Dataset:
        """The training rows under these labels."""
        return data.Dataset(self.x, y, self.labels, self.kind)

    def first(self, rows: int) -> "Source":
        """The first rows of each class, in its share of the whole; the test set stays."""
        if not 1 <= rows <= len(self.y):
            raise errors.InvalidDataset(f"{self.name} has {len(self.y)} rows, so no first {rows}")
        chosen = _stratified(self.y, rows)
        return Source(
            self.name, self.kind, self.labels, self.x[chosen], self.y[chosen], self.x_test, self.y_test
        )


def folder(chosen: Path | None = None) -> Path:
    """Where the data lies: as asked, else as the environment says, else beside the working directory."""
    return chosen or Path(os.environ.get(ENVIRONMENT) or "../shared/data")


def load(name: str, root: Path | None = None) -> Source:
    """Read a dataset by its name; what is missing or broken is `InvalidDataset`, naming the file."""
    if name not in LOADERS:
        raise errors.InvalidDataset(f"{name!r} is none of the paper's datasets: {', '.join(LOADERS)}")
    return LOADERS[name](folder(root))


def mnist(root: Path) -> Source:
    """MNIST from its original files."""
    train, test = ((_idx(root, f"{part}-images-idx3"), _idx(root, f"{part}-labels-idx1")) for part in PARTS)
    return _source("mnist", tuple(range(10)), train, test)


def news20(root: Path) -> Source:
    """Posts as the mean of their words' GloVe vectors, split at random as the paper's clean accuracy suggests."""
    here = root / "news20"
    names = json.loads(_present(here / "label_names.json").read_text(encoding="utf-8"))
    with gzip.open(_present(here / "news20_bydate.jsonl.gz"), "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    x = _averages([row["text"] for row in rows], _npz(here / "glove6b_100d_news20.npz", "words", "vectors"))
    y = np.array([row["label"] for row in rows], dtype=np.int64)
    order = streams.numpy(0, "news20").permutation(len(y))  # one split for all trials
    cut = round(len(y) * NEWS20_TRAIN / 18_846)
    train, test = order[:cut], order[cut:]
    return _source("news20", tuple(names), (x[train], y[train]), (x[test], y[test]), kind="vectors")


def cifar10_subset(root: Path) -> Source:
    """10,000 training and 2,000 test images of CIFAR-10."""
    parts = ("x_train", "y_train", "x_test", "y_test", "class_names")
    x, y, x_test, y_test, names = _npz(root / "cifar10" / "cifar10_subset.npz", *parts)
    return _source("cifar10-subset", tuple(names.tolist()), (x, y), (x_test, y_test))


def cifar10(root: Path) -> Source:
    """CIFAR-10, binary version."""
    here = root / "cifar-10-batches-bin"
    batches = [_cifar(here / f"data_batch_{number}.bin", labels=1) for number in range(1, 6)]
    x, y = (np.concatenate(part) for part in zip(*batches, strict=True))
    return _source("cifar10", CIFAR10, (x, y), _cifar(here / "test_batch.bin", labels=1))


def cifar100(root: Path) -> Source:
    """CIFAR-100 with its fine labels, binary version."""
    here = root / "cifar-100-binary"
    names = _present(here / "fine_label_names.txt").read_text(encoding="utf-8").split()
    train, test = (_cifar(here / f"{part}.bin", labels=2) for part in ("train", "test"))
    return _source("cifar100", tuple(names), train, test)


def clothing1m(root: Path) -> Source:
    """Clothing1M* as the user prepared it: resized images, noisy training labels, clean test labels."""
    train, test = (_npz(root / "clothing1m" / f"{part}.npz", "x", "y") for part in ("train", "test"))
    if len(np.unique(train[1])) != CLOTHING_CLASSES:
        raise errors.InvalidDataset(f"clothing1m needs {CLOTHING_CLASSES} classes: merge labels 3 and 5")
    return _source("clothing1m", tuple(range(CLOTHING_CLASSES)), (train[0], train[1]), (test[0], test[1]))


LOADERS: dict[str, Callable[[Path], Source]] = {
    "mnist": mnist,
    "news20": news20,
    "cifar10-subset": cifar10_subset,
    "cifar10": cifar10,
    "cifar100": cifar100,
    "clothing1m": clothing1m,
}
PARTS = ("train", "t10k")
Rows = tuple[Array, Array]  # x, y


def _source(
    name: str, labels: tuple[data.Label, ...], train: Rows, test: Rows, *, kind: data.Kind = "image"
) -> Source:
    y, y_test = (part[1].astype(np.int64) for part in (train, test))
    for rows, found in ((train[0], y), (test[0], y_test)):
        if len(rows) != len(found) or not len(found) or found.max() >= len(labels):
            raise errors.InvalidDataset(f"{name}: rows and labels do not belong together")
    return Source(name, kind, labels, train[0], y, test[0], y_test)


def _present(path: Path) -> Path:
    if not path.is_file():
        raise errors.InvalidDataset(
            f"{path} is missing: put it there, or name the data folder ({ENVIRONMENT})"
        )
    return path


def _idx(root: Path, name: str) -> Array:
    """An IDX file: two zero bytes, type, number of dimensions, big-endian sizes, then bytes."""
    path = _present(root / "mnist" / f"{name}-ubyte.gz")
    try:
        raw = gzip.decompress(path.read_bytes())
        sizes = struct.unpack_from(f">{raw[3]}I", raw, 4)
        return np.frombuffer(raw, np.uint8, offset=4 + 4 * raw[3]).reshape(sizes)
    except (OSError, EOFError, zlib.error, IndexError, ValueError, struct.error) as exc:
        raise errors.InvalidDataset(f"{path} is no gzipped IDX file") from exc


def _npz(path: Path, *names: str) -> tuple[Array, ...]:
    try:
        with np.load(_present(path), allow_pickle=False) as arrays:
            return tuple(arrays[name] for name in names)
    except (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile) as exc:
        raise errors.InvalidDataset(f"{path} is no NPZ file with {', '.join(names)}") from exc


def _cifar(path: Path, *, labels: int) -> Rows:
    """Records of `labels` label bytes, the finest last, and three planes of 32 x 32."""
    raw = np.frombuffer(_present(path).read_bytes(), np.uint8)
    width = labels + 3 * 32 * 32
    if not len(raw) or len(raw) % width:
        raise errors.InvalidDataset(f"{path} does not hold whole records of {width} bytes")
    records = raw.reshape(-1, width)
    images = records[:, labels:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)  # (n, 32, 32, 3)
    return np.ascontiguousarray(images), records[:, labels - 1]


def _averages(texts: list[str], glove: tuple[Array, ...]) -> npt.NDArray[np.float32]:
    vectors = glove[1].astype(np.float32)
    row = {word: number for number, word in enumerate(glove[0].tolist())}
    x = np.zeros((len(texts), vectors.shape[1]), dtype=np.float32)  # a post without known words stays zero
    for number, text in enumerate(texts):
        known = [row[word] for word in words.split(posts.body(text)) if word in row]
        if known:
            x[number] = vectors[known].mean(axis=0)
    return x


def _stratified(y: data.Labels, rows: int) -> data.Labels:
    place = np.empty(len(y))  # where in its class a row stands, from 0 to 1
    for label in np.unique(y):
        members = np.flatnonzero(y == label)
        place[members] = (np.arange(len(members)) + 0.5) / len(members)
    return np.sort(np.argsort(place, kind="stable")[:rows])
