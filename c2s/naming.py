"""What labels are called where a job takes several classes for one: as they came, and by the class that they became.

A merged class has the name of the first of its group. A label that is in the same class as the one a row came with is
told as it came: merging says that the two mean the same, not that the user's file says something else.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

NAMED = 10  # names that a sentence lists before it counts the rest
Places = NDArray[np.integer[Any]]


class Naming(NamedTuple):
    """The classes of a job, and the labels of its dataset that each stands for."""

    classes: tuple[str, ...]
    came: tuple[str, ...]  # the labels, in the dataset's order
    become: tuple[int, ...]  # the class of each of them

    @classmethod
    def same(cls, classes: Sequence[str]) -> "Naming":
        """Nothing was merged."""
        return cls(tuple(classes), tuple(classes), tuple(range(len(classes))))

    @property
    def places(self) -> dict[str, int]:
        """The class that each label means."""
        return dict(zip(self.came, self.become, strict=True))

    @property
    def every(self) -> tuple[str, ...]:
        """All names: of classes, then of labels as they came."""
        return (*self.classes, *self.came)

    def among(self, places: Places, came: Places) -> NDArray[np.int64]:
        """Where in `every` the names are by which these classes are told of rows that came with these labels."""
        same = np.array(self.become)[came] == places
        return np.where(same, came + np.int64(len(self.classes)), places)

    def counted(self) -> str:
        """How many classes there are, and which of how many where some were merged."""
        if len(self.classes) == len(self.came):
            return f"{len(self.came)} classes"
        left = f"{some(self.classes)}, in this order"
        return f"{len(self.came)} classes, which merge makes {len(self.classes)} ({left})"

    def told(self, place: int, came: int) -> str:
        """A class as it is told of a row that came with this label."""
        return self.every[int(self.among(np.array([place]), np.array([came]))[0])]


class Came(NamedTuple):
    """The labels of a dataset of which a job merged some classes, by name and of each row."""

    naming: Naming
    y: NDArray[np.int64]


def meant(classes: Sequence[str], groups: Sequence[Sequence[str]]) -> dict[str, int]:
    """The class that each label means, those that were merged included, by the classes that are left."""
    own = {name: place for place, name in enumerate(classes)}
    return own | {name: own[group[0]] for group in groups for name in group if group[0] in own}


def some(names: Sequence[str]) -> str:
    """The first of them, and how many more there are."""
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
