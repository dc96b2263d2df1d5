"""How rows are parted: held out, into folds, into batches; and how many, so that a run can be foretold."""

from collections.abc import Sequence

import numpy as np

from c2s import errors, streams
from c2s.data import Labels


def split(y: Labels, share: float, *, seed: int) -> tuple[Labels, Labels]:
    """Stratified (train, validation) row numbers; every class of two rows or more keeps a training row."""
    rng = streams.numpy(seed, "split")
    members = [rng.permutation(np.flatnonzero(y == k)) for k in np.unique(y)]
    validation = np.sort(np.concatenate([rows[: _held(len(rows), share)] for rows in members]))
    if len(validation) == 0:  # too few rows per class to stratify
        order = _sparing(y, rng.permutation(len(y)))
        validation = np.sort(order[: held([len(rows) for rows in members], share)])
    if len(validation) >= len(y):
        raise errors.InvalidDataset("too few rows to hold any out for validation")
    return np.setdiff1d(np.arange(len(y)), validation), validation


def _sparing(y: Labels, order: Labels) -> Labels:
    """The same order, but the last row of each class comes after all others, that of a class of one row first."""
    _, place, rows = np.unique(y[order][::-1], return_index=True, return_counts=True)
    last = (len(order) - 1 - place)[np.lexsort((-place, rows > 1))]
    return np.concatenate([np.delete(order, last), order[last]])


def held(class_rows: Sequence[int], share: float) -> int:
    """How many rows `split` holds out of classes of so many rows."""
    return sum(_held(rows, share) for rows in class_rows) or max(1, round(share * sum(class_rows)))


def _held(rows: int, share: float) -> int:
    return max(0, min(rows - 1, round(share * rows)))


def folds(y: Labels, count: int, *, seed: int) -> Labels:
    """A fold number for every row, stratified by label."""
    rng = streams.numpy(seed, "folds")
    order = rng.permutation(len(y))
    order = order[np.argsort(y[order], kind="stable")]  # classes one after the other, shuffled inside
    numbers = np.empty(len(y), dtype=np.int64)
    numbers[order] = np.arange(len(y)) % count
    return numbers


def outside(rows: int, count: int) -> list[int]:
    """How many of so many rows each fold's net learns from."""
    return [rows - len(range(fold, rows, count)) for fold in range(count)]


def batches(rows: int, size: int) -> int:
    """How many batches an epoch has; a last one of a single row joins the one before it."""
    whole, rest = divmod(rows, size)
    return max(1, whole + (rest > 1))
