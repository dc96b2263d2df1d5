"""The paper's datasets, read from a folder the user fills: training rows with their clean labels, and a clean test set.

| name | what to put into the data folder |
|---|---|
| mnist | `mnist/` with the four IDX files, gzipped |
| news20 | `news20/` with `news20_bydate.jsonl.gz`, `label_names.json`, `glove6b_100d_news20.npz` |
| news20-tfidf | the first two of them |
| cifar10-subset | `cifar10/cifar10_subset.npz`, and `cifar10/cifar10n_labels.npz` for human labels |
| labelme | `labelme_crowd/labelme_crowd.npz` |
| hausa | `hausa_topics/hausa_topics.jsonl.gz` |
| cifar10, cifar100 | `cifar-10-batches-bin/`, `cifar-100-binary/`: the binary versions, as their archives unpack |
| clothing1m | `clothing1m/train.npz` and `test.npz` with `x` (n, h, w, 3) uint8 and `y` 0..12, labels 3 and 5 merged |
"""

import dataclasses
import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from c2s import data, errors, streams
from c2s.paper import human, posts, reading, source, spectrum
from c2s.paper.reading import ENVIRONMENT, Array
from c2s.paper.source import Source
from c2s.reading import words

CIFAR10 = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
CLOTHING_CLASSES = 13  # Clothing1M* : 14 with two merged
NEWS20_TRAIN = 11_314


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
    train, test = (
        (reading.idx(root, f"{part}-images-idx3"), reading.idx(root, f"{part}-labels-idx1")) for part in PARTS
    )
    return source.made("mnist", tuple(range(10)), train, test)


def news20(root: Path) -> Source:
    """Posts as the mean of their words' GloVe vectors, split at random as the paper's clean accuracy suggests."""
    here = root / "news20"
    names = json.loads(reading.present(here / "label_names.json").read_text(encoding="utf-8"))
    rows = reading.lines(here / "news20_bydate.jsonl.gz")
    glove = reading.npz(here / "glove6b_100d_news20.npz", "words", "vectors")
    x = _averages([row["text"] for row in rows], glove)
    y = np.array([row["label"] for row in rows], dtype=np.int64)
    train, test = _halves(len(y))
    return source.made("news20", tuple(names), (x[train], y[train]), (x[test], y[test]), kind="vectors")


def news20_tfidf(root: Path) -> Source:
    """The same posts and split by features of our own: TF-IDF of words and pairs of them, 300 directions of it."""
    here = root / "news20"
    names = json.loads(reading.present(here / "label_names.json").read_text(encoding="utf-8"))
    rows = reading.lines(here / "news20_bydate.jsonl.gz")
    texts, y = [posts.body(row["text"]) for row in rows], np.array([row["label"] for row in rows])
    train, test = _halves(len(y))
    x, x_test = spectrum.vectors([texts[i] for i in train], [texts[i] for i in test])
    return source.made("news20-tfidf", tuple(names), (x, y[train]), (x_test, y[test]), kind="vectors")


def _halves(rows: int) -> tuple[data.Labels, data.Labels]:
    order = streams.numpy(0, "news20").permutation(rows)  # one split for all trials
    cut = round(rows * NEWS20_TRAIN / 18_846)
    return order[:cut], order[cut:]


def cifar10_subset(root: Path) -> Source:
    """10,000 training and 2,000 test images of CIFAR-10."""
    parts = ("x_train", "y_train", "x_test", "y_test", "class_names")
    x, y, x_test, y_test, names = reading.npz(root / "cifar10" / "cifar10_subset.npz", *parts)
    found = source.made("cifar10-subset", tuple(names.tolist()), (x, y), (x_test, y_test))
    return dataclasses.replace(found, given=human.cifar10n(root))


def cifar10(root: Path) -> Source:
    """CIFAR-10, binary version."""
    here = root / "cifar-10-batches-bin"
    batches = [reading.cifar(here / f"data_batch_{number}.bin", labels=1) for number in range(1, 6)]
    x, y = (np.concatenate(part) for part in zip(*batches, strict=True))
    return source.made("cifar10", CIFAR10, (x, y), reading.cifar(here / "test_batch.bin", labels=1))


def cifar100(root: Path) -> Source:
    """CIFAR-100 with its fine labels, binary version."""
    here = root / "cifar-100-binary"
    names = reading.present(here / "fine_label_names.txt").read_text(encoding="utf-8").split()
    train, test = (reading.cifar(here / f"{part}.bin", labels=2) for part in ("train", "test"))
    return source.made("cifar100", tuple(names), train, test)


def clothing1m(root: Path) -> Source:
    """Clothing1M* as the user prepared it: resized images, noisy training labels, clean test labels."""
    train, test = (reading.npz(root / "clothing1m" / f"{part}.npz", "x", "y") for part in ("train", "test"))
    if len(np.unique(train[1])) != CLOTHING_CLASSES:
        raise errors.InvalidDataset(f"clothing1m needs {CLOTHING_CLASSES} classes: merge labels 3 and 5")
    return source.made("clothing1m", tuple(range(CLOTHING_CLASSES)), (train[0], train[1]), (test[0], test[1]))


LOADERS: dict[str, Callable[[Path], Source]] = {
    "mnist": mnist,
    "news20": news20,
    "cifar10-subset": cifar10_subset,
    "cifar10": cifar10,
    "cifar100": cifar100,
    "clothing1m": clothing1m,
    "news20-tfidf": news20_tfidf,
    "labelme": human.labelme,
    "hausa": human.hausa,
}
PARTS = ("train", "t10k")


def _averages(texts: list[str], glove: tuple[Array, ...]) -> npt.NDArray[np.float32]:
    vectors = glove[1].astype(np.float32)
    row = {word: number for number, word in enumerate(glove[0].tolist())}
    x = np.zeros((len(texts), vectors.shape[1]), dtype=np.float32)  # a post without known words stays zero
    for number, text in enumerate(texts):
        known = [row[word] for word in words.split(posts.body(text)) if word in row]
        if known:
            x[number] = vectors[known].mean(axis=0)
    return x
