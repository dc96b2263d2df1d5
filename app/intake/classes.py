"""The classes of a dataset: how many rows carry the label of each, and which may be one."""

from collections.abc import Sequence
from decimal import Decimal

import numpy as np

from app.intake import report
from c2s import data
from c2s.reading import numerals


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


def lookalikes(names: Sequence[str], *, most: int) -> tuple[str, ...]:
    """Classes that a person may have meant to be one: whether they are is not ours to decide."""
    alike: dict[str | Decimal, list[str]] = {}
    for name in names:
        number = numerals.exact(name)
        alike.setdefault(_folded(name) if number is None else number, []).append(name)
    found = [group for group in alike.values() if len(group) > 1]
    said = [f"the classes {', '.join(map(repr, group[:5]))} {_likeness(group)}" for group in found[:most]]
    more = [f"and {len(found) - most} more such groups"] if len(found) > most else []
    return (*said, *more)


def _likeness(group: Sequence[str]) -> str:
    if len(set(map(_folded, group))) == 1:
        return "differ in spaces or case alone"
    return "are the same number, written differently"


def _folded(name: str) -> str:
    return " ".join(name.split()).casefold()
