"""What people and earlier jobs have said of the labels before a run, and what its report must tell of that.

Gold rows are held out so that they can judge; those with labels as they were given also tell T_c by themselves. A row
whose label was put right, by people or by a model, tells nothing of the noise.
"""

import numpy as np
import numpy.typing as npt

from c2s import data, estimation, transition

MOST_GOLD = 0.2  # of the training rows
ROWS = 10  # gold rows of a class from which its row of T_c can be counted
Mask = npt.NDArray[np.bool_]


def spare(dataset: data.Dataset, train: data.Labels, holdout: data.Labels) -> tuple[data.Labels, data.Labels]:
    """Rows with gold labels are held out too, so that they can judge; not if they are many, or all of a class."""
    if dataset.gold is None:
        return train, holdout
    known = dataset.gold[train] >= 0  # (training rows,)
    left = np.unique(dataset.y[train[~known]])
    if known.sum() > MOST_GOLD * len(train) or len(left) < len(np.unique(dataset.y[train])):
        return train, holdout
    return train[~known], np.sort(np.concatenate([holdout, train[known]]))


def most_counted(dataset: data.Dataset, share: float, *, seed: int) -> int:
    """How many gold rows could be held out of a run, and so count its classifier's accuracy."""
    train, holdout = data.split(dataset.y, share, seed=seed)
    return len(holdout) + int(MOST_GOLD * len(train))


def reviewed(dataset: data.Dataset) -> Mask | None:
    """The rows whose labels people decided when the dataset was made."""
    return None if dataset.amended is None else np.asarray(dataset.amended) == data.BY_PERSON


def matrix(dataset: data.Dataset) -> estimation.Estimated | None:
    """T_c as gold rows tell it, if every class has enough of them."""
    fair, counts = _fair(dataset)
    if counts.min() < ROWS or dataset.gold is None:
        return None
    return estimation.from_gold(np.where(fair, dataset.gold, -1), dataset.y, len(counts))


def _fair(dataset: data.Dataset) -> tuple[Mask, npt.NDArray[np.int64]]:
    """Gold rows under the labels that they were given, and how many each true class has."""
    if dataset.gold is None:
        return np.zeros(len(dataset), np.bool_), np.zeros(len(dataset.labels), np.int64)
    fair = np.asarray(dataset.gold) >= 0
    if dataset.amended is not None:
        fair &= np.asarray(dataset.amended) == 0
    return fair, np.bincount(dataset.gold[fair], minlength=len(dataset.labels))


def words(dataset: data.Dataset, T: transition.Matrix) -> str:
    """How much the matrix of gold rows rests on, and the distance that so few rows make by themselves."""
    _, counts = _fair(dataset)
    deviation = np.sqrt(T * (1 - T) / np.maximum(counts, 1)[:, None])  # (c, c)  of a proportion
    chance = float((np.sqrt(2 / np.pi) * deviation).sum(axis=1).mean())
    return (
        f"Counted from {counts.sum()} gold rows, {counts.min()} to {counts.max()} a class: of so few rows chance alone"
        f" makes a distance of about {chance:.3f}."
    )


def notes(dataset: data.Dataset, train: data.Labels) -> list[str]:
    """What a reader of the report must know of its labels."""
    return [*_gold_left(dataset, train), *_few_gold(dataset), *_put_right(dataset)]


def _gold_left(dataset: data.Dataset, train: data.Labels) -> list[str]:
    """Gold rows that are trained on after all."""
    if dataset.gold is None:
        return []
    marked, rest = int((dataset.gold >= 0).sum()), int((dataset.gold[train] >= 0).sum())
    if rest == 0:
        return []
    many = rest > MOST_GOLD * len(train)
    why = (
        f"more than the {MOST_GOLD:.0%} of the training rows that are spared" if many else "all of some class"
    )
    return [
        f"{marked} rows are marked gold, {why}: the {marked - rest} of them among the rows held out count the"
        f" classifier's accuracy, the other {rest} are trained on under the labels that they were given."
    ]


def _few_gold(dataset: data.Dataset) -> list[str]:
    """Gold rows that cannot carry a matrix."""
    if dataset.gold is None or not (dataset.gold >= 0).any() or matrix(dataset) is not None:
        return []
    fair, counts = _fair(dataset)
    gone = int((dataset.gold >= 0).sum() - fair.sum())
    besides = f" ({gone} more have labels that were put right)" if gone else ""
    least = dataset.classes[int(counts.argmin())]
    return [
        f"No matrix is counted from the {fair.sum()} gold rows{besides}: {least} has {counts.min()} of them,"
        f" and each class needs {ROWS}."
    ]


def _put_right(dataset: data.Dataset) -> list[str]:
    """Labels that agree with a model because one wrote them."""
    if dataset.amended is None:
        return []
    count = int((np.asarray(dataset.amended) == data.BY_MODEL).sum())
    if count == 0:
        return []
    return [
        f"{count} of {len(dataset)} labels were put right by the model of an earlier job: where it was wrong they agree"
        " with it all the same, so the noise found here is what is left, and less than there is."
    ]
