"""Classes that are one: a noisy class that is mostly another true class, and datasets with such classes joined."""

import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from c2s import data, errors, naming
from c2s.matrix import estimation, transition

DIGITS = 4  # of a share that is told
MOSTLY = 0.5  # of a noisy class's rows that are of another true class


class Hint(NamedTuple):
    """Of the rows labelled `noisy`, the share `mass` is of the class `clean`."""

    noisy: int
    clean: int
    mass: float

    def plain(self, classes: Sequence[str]) -> dict[str, Any]:
        """With the names of the classes."""
        return {
            "class": classes[self.noisy],
            "is_mostly": classes[self.clean],
            "mass": round(self.mass, DIGITS),
        }


def hints(T_c: transition.Matrix, y: estimation.Labels, *, unknown: Sequence[int] = ()) -> list[Hint]:
    """Noisy classes that are mostly another class, the surest first; rows of T of `unknown` ones say nothing."""
    priors = transition.clean_priors(T_c, np.bincount(y, minlength=len(T_c)))
    joint = priors[:, None] * T_c  # (c, c)  P(clean = i, noisy = j)
    shares = joint / np.maximum(
        joint.sum(axis=0, keepdims=True), transition.ROUNDING
    )  # P(clean = i | noisy = j)
    best = shares.argmax(axis=0)  # (c,)
    found = [
        Hint(j, int(i), float(shares[i, j])) for j, i in enumerate(best) if i != j and shares[i, j] > MOSTLY
    ]
    found = [hint for hint in found if not {hint.noisy, hint.clean} & set(unknown)]
    return sorted(found, key=lambda hint: -hint.mass)


def merged(dataset: data.Dataset, groups: Sequence[Sequence[str]]) -> data.Dataset:
    """The dataset with the classes of each group under its first name."""
    places = places_of(dataset.classes, groups)
    if all(place == k for k, place in enumerate(places)):
        return dataset
    become = np.array(named(dataset.classes, groups).become, dtype=np.int64)
    gold, given = (
        None if some is None else np.where(some < 0, -1, become[some])
        for some in (dataset.gold, dataset.given)
    )
    labels = tuple(dataset.labels[place] for place in sorted(set(places)))
    return dataclasses.replace(dataset, y=become[dataset.y], labels=labels, gold=gold, given=given)


def named(classes: Sequence[str], groups: Sequence[Sequence[str]]) -> naming.Naming:
    """What labels are called once these groups are merged."""
    places = places_of(classes, groups)
    left = sorted(set(places))
    return naming.Naming(
        tuple(classes[place] for place in left), tuple(classes), tuple(left.index(place) for place in places)
    )


def class_rows(dataset: data.Dataset, groups: Sequence[Sequence[str]]) -> list[int]:
    """Rows of each class once these groups are merged."""
    left = merged(dataset, groups)
    counts: list[int] = np.bincount(left.y, minlength=len(left.labels)).tolist()
    return counts


def places_of(classes: Sequence[str], groups: Sequence[Sequence[str]]) -> list[int]:
    """For each class the place of the class that it becomes."""
    places, taken = list(range(len(classes))), set[str]()
    for group in groups:
        for name in group:
            if name not in classes:
                raise errors.InvalidConfig(f"merge: there is no class {name!r}")
            if name in taken:
                raise errors.InvalidConfig(f"merge: class {name!r} is named twice")
            taken.add(name)
            places[classes.index(name)] = classes.index(group[0])
    if len(set(places)) < 2:
        raise errors.InvalidConfig("merge: two classes must be left")
    return places
