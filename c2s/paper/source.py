"""One dataset of an experiment: training rows with their true labels, a clean test set, and labels given by others."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from c2s import data, errors
from c2s.paper.reading import Array

Rows = tuple[Array, Array]  # x, y


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
    given: Mapping[str, data.Labels] = field(
        default_factory=dict
    )  # labels that people or rules gave the same rows

    def labelled(self, y: data.Labels) -> data.Dataset:
        """The training rows under these labels."""
        return data.Dataset(self.x, y, self.labels, self.kind)

    def first(self, rows: int) -> "Source":
        """The first rows of each class, in its share of the whole; the test set stays."""
        if not 1 <= rows <= len(self.y):
            raise errors.InvalidDataset(f"{self.name} has {len(self.y)} rows, so no first {rows}")
        chosen = _stratified(self.y, rows)
        given = {name: labels[chosen] for name, labels in self.given.items()}
        return dataclasses.replace(self, x=self.x[chosen], y=self.y[chosen], given=given)


def made(
    name: str, labels: tuple[data.Label, ...], train: Rows, test: Rows, *, kind: data.Kind = "image"
) -> Source:
    """A source whose rows and labels belong together, or `InvalidDataset`."""
    y, y_test = (part[1].astype(np.int64) for part in (train, test))
    for rows, found in ((train[0], y), (test[0], y_test)):
        if len(rows) != len(found) or not len(found) or found.max() >= len(labels):
            raise errors.InvalidDataset(f"{name}: rows and labels do not belong together")
    return Source(name, kind, labels, train[0], y, test[0], y_test)


def _stratified(y: data.Labels, rows: int) -> data.Labels:
    place = np.empty(len(y))  # where in its class a row stands, from 0 to 1
    for label in np.unique(y):
        members = np.flatnonzero(y == label)
        place[members] = (np.arange(len(members)) + 0.5) / len(members)
    return np.sort(np.argsort(place, kind="stable")[:rows])
