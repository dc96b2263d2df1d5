"""Datasets whose labels people or rules got wrong by themselves; the truth is known of them all."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from c2s import data, streams
from c2s.paper import reading, source, spectrum

CIFAR10N = ("aggregate", "random1", "worst")
MAJORITY, ONE_ANSWER, RULES = "majority", "one-answer", "rules"


def cifar10n(root: Path) -> Mapping[str, data.Labels]:
    """What people called the images of the subset; none where the file is missing."""
    labels, images = root / "cifar10" / "cifar10n_labels.npz", root / "cifar10" / "cifar10_subset.npz"
    if not labels.is_file():
        return {}
    (index,) = reading.npz(images, "index_train")
    found = reading.npz(labels, *CIFAR10N)
    return {name: called[index].astype(np.int64) for name, called in zip(CIFAR10N, found, strict=True)}


def labelme(root: Path) -> source.Source:
    """Scenes as VGG features, called something by a few of 59 workers each: their majority, or one of them."""
    parts = ("x_train", "y_train", "answers_train", "x_test", "y_test", "class_names")
    x, y, answers, x_test, y_test, names = reading.npz(root / "labelme_crowd" / "labelme_crowd.npz", *parts)
    rng = streams.numpy(0, "labelme")  # one draw for all trials
    votes = np.stack([(answers == k).sum(axis=1) for k in range(len(names))], axis=1)  # (n, c)
    most = (votes + 0.5 * rng.random(votes.shape)).argmax(axis=1)  # ties fall at random
    nth = rng.integers(0, votes.sum(axis=1))  # (n,)  which of a row's answers
    one = (votes.cumsum(axis=1) <= nth[:, None]).sum(axis=1)
    train, test = (x.astype(np.float32), y), (x_test.astype(np.float32), y_test)
    found = source.made("labelme", tuple(names.tolist()), train, test, kind="vectors")
    return dataclasses.replace(found, given={MAJORITY: most, ONE_ANSWER: one})


def hausa(root: Path) -> source.Source:
    """Titles of Hausa news, called a topic by keyword rules."""
    rows = reading.lines(root / "hausa_topics" / "hausa_topics.jsonl.gz")
    train, test = ([row for row in rows if row["split"] == part] for part in ("train", "test"))
    names = sorted({row["gold"] for row in train})
    x, x_test = spectrum.vectors([r["text"] for r in train], [r["text"] for r in test], characters=True)
    y, y_test, noisy = (
        np.array([names.index(row[key]) for row in part])
        for part, key in ((train, "gold"), (test, "gold"), (train, "noisy"))
    )
    found = source.made("hausa", tuple(names), (x, y), (x_test, y_test), kind="vectors")
    return dataclasses.replace(found, given={RULES: noisy})
