"""What people and earlier jobs have said of the labels before a run, and what its report must tell of that.

Gold rows are held out so that they can judge; those with labels as they were given also tell T_c by themselves. A row
whose label was put right, by people or by a model, tells nothing of the noise.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from c2s import data, errors, splits
from c2s.matrix import estimation, transition

MOST_GOLD = 0.2  # of the training rows
CHANCES, FAR = (
    3.0,
    0.2,
)  # distances of T_c from what gold rows count: beyond so many of chance's, and this, one is wrong
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


def spared(dataset: data.Dataset, share: float, *, seed: int) -> int:
    """How many gold rows a run holds out besides those that it would hold out anyway."""
    if dataset.gold is None:
        return 0
    train, holdout = splits.split(dataset.y, share, seed=seed)
    return len(train) - len(spare(dataset, train, holdout)[0])


def likely_spared(class_rows: Sequence[int], class_gold: Sequence[int], share: float) -> int:
    """The same, to a few rows, where no more is known than how many rows of each class are gold."""
    train = sum(class_rows) - splits.held(class_rows, share)
    known = round(sum(class_gold) * train / sum(class_rows))
    whole = any(gold >= rows for rows, gold in zip(class_rows, class_gold, strict=True))
    return 0 if whole or known > MOST_GOLD * train else known


def reviewed(dataset: data.Dataset) -> Mask | None:
    """The rows whose labels people decided when the dataset was made."""
    return None if dataset.amended is None else np.asarray(dataset.amended) == data.BY_PERSON


def untouched(dataset: data.Dataset, rows: data.Labels) -> Mask:
    """Which of these rows have the label that they came with; all of them where hardly one has.

    Labels that were put right agree with a classifier more than T_c, which is of all rows, could explain.
    """
    if dataset.amended is None:
        return np.ones(len(rows), np.bool_)
    found = np.asarray(dataset.amended)[rows] == 0
    return found if found.sum() >= ROWS else np.ones(len(rows), np.bool_)


def matrix(dataset: data.Dataset) -> estimation.Estimated | None:
    """T_c as gold rows tell it, if every class has enough of them."""
    fair, counts = _fair(dataset)
    if counts.min() < ROWS or dataset.gold is None:
        return None
    return estimation.from_gold(np.where(fair, dataset.gold, -1), dataset.y, len(counts))


def require_matrix(dataset: data.Dataset) -> None:
    """Refuse to count T_c from gold rows that cannot carry it."""
    if matrix(dataset) is None:
        told = _few_gold(dataset) or ["No matrix is counted from gold rows: none is marked."]
        raise errors.InvalidConfig(told[0][0].lower() + told[0][1:].rstrip("."))


def witnesses(dataset: data.Dataset) -> data.Labels:
    """The gold rows that tell T_c."""
    return np.flatnonzero(_fair(dataset)[0])


def contradiction(dataset: data.Dataset, T_c: transition.Matrix) -> str | None:
    """What gold rows say against a matrix that is grossly other than the one that they count."""
    if (found := matrix(dataset)) is None:
        return None
    distance = float(np.abs(found.T - T_c).sum(axis=1).mean())
    if distance <= CHANCES * _chance(dataset, found.T) + FAR:
        return None
    rows = witnesses(dataset)
    wrong = float((dataset.gold[rows] != dataset.y[rows]).mean())  # type: ignore[index]
    return (
        f"The gold rows contradict the matrix: {wrong:.0%} of the {len(rows)} have a wrong label, and they lie"
        f" {distance:.2f} from it, further than chance can take them. If they were drawn at random the matrix is wrong:"
        ' ask for {"estimator": "gold"}. Until then nothing is corrected by it.'
    )


def _fair(dataset: data.Dataset) -> tuple[Mask, npt.NDArray[np.int64]]:
    """Gold rows under the labels that they were given, and how many each true class has."""
    if dataset.gold is None:
        return np.zeros(len(dataset), np.bool_), np.zeros(len(dataset.labels), np.int64)
    fair = np.asarray(dataset.gold) >= 0
    if dataset.amended is not None:
        fair &= np.asarray(dataset.amended) == 0
    return fair, np.bincount(dataset.gold[fair], minlength=len(dataset.labels))


def as_given(dataset: data.Dataset, T_c: transition.Matrix) -> transition.Matrix | None:
    """T of the labels as they came, by that of labels of which some were put right; None if they are the same.

    A label that was put right is taken to be right: its rows go back from the diagonal to the label that they had.
    """
    if (moved := _moved(dataset)) is None:
        return None
    counts = np.bincount(dataset.y, minlength=len(T_c))
    joint = transition.clean_priors(T_c, counts)[:, None] * T_c  # (c, c)  P(clean = i, label now = j)
    back = np.zeros_like(joint)
    np.add.at(back, (dataset.y[moved], dataset.given[moved]), 1 / len(dataset))  # type: ignore[index]
    joint = (
        np.maximum(joint - np.diag(back.sum(axis=1)), 0) + back
    )  # (c, c)  P(clean = i, label as it came = j)
    total = joint.sum(axis=1, keepdims=True)
    found: transition.Matrix = np.where(total > 0, joint / np.where(total > 0, total, 1), T_c)
    return found


def _moved(dataset: data.Dataset) -> data.Labels | None:
    """Rows whose labels are others than they came with, of classes that are still there."""
    if dataset.given is None:
        return None
    rows = np.flatnonzero((dataset.given >= 0) & (dataset.given != dataset.y))
    return rows if len(rows) else None


def put_right(dataset: data.Dataset) -> dict[str, int] | None:
    """How many labels people decided and a model changed before the run; None: all are as they were given."""
    if dataset.amended is None:
        return None
    counts = np.bincount(dataset.amended, minlength=data.BY_MODEL + 1)
    return {"by_people": int(counts[data.BY_PERSON]), "by_model": int(counts[data.BY_MODEL])}


def words(dataset: data.Dataset, T: transition.Matrix) -> str:
    """How much the matrix of gold rows rests on, and the distance that so few rows make by themselves."""
    _, counts = _fair(dataset)
    chance = _chance(dataset, T)
    return (
        f"Counted from {counts.sum()} gold rows, {counts.min()} to {counts.max()} a class: of so few rows chance alone"
        f" makes a distance of about {chance:.3f}."
    )


def _chance(dataset: data.Dataset, T: transition.Matrix) -> float:
    """The mean distance of a matrix counted from so few rows to the truth; what it counts as certain is not."""
    _, counts = _fair(dataset)
    unsure = transition.doubted(T, counts.astype(np.float64))
    deviation = np.sqrt(unsure * (1 - unsure) / np.maximum(counts, 1)[:, None])  # (c, c)  of a proportion
    return float((np.sqrt(2 / np.pi) * deviation).sum(axis=1).mean())


def notes(dataset: data.Dataset, train: data.Labels, T_c: transition.Matrix) -> list[str]:
    """What a reader of the report must know of its labels."""
    against = contradiction(dataset, T_c)
    return [
        *([against] if against else []),
        *_gold_left(dataset, train),
        *_few_gold(dataset),
        *_put_right(dataset),
        *_two_matrices(dataset),
    ]


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


def _two_matrices(dataset: data.Dataset) -> list[str]:
    """Which labels the matrix is of."""
    if (moved := _moved(dataset)) is None:
        return []
    return [
        f"{len(moved)} of {len(dataset)} labels are others than they came with: the matrix is of the labels now,"
        " as_given is that of the labels as they came, by which the model audits labels."
    ]
