"""The classes of a dataset: how many rows carry the label of each."""

import numpy as np

from app.intake import report
from c2s import data


def of(dataset: data.Dataset) -> tuple[report.Class, ...]:
    """The classes with their rows, and how many of these are gold."""
    known = np.zeros(len(dataset), np.bool_) if dataset.gold is None else np.asarray(dataset.gold) >= 0
    rows, gold = (
        np.bincount(labels, minlength=len(dataset.labels)).tolist()
        for labels in (dataset.y, dataset.y[known])
    )
    return tuple(
        report.Class(name=name, rows=count, gold=some)
        for name, count, some in zip(dataset.classes, rows, gold, strict=True)
    )
