"""What a model takes and answers, by its card alone: the half of a model that needs no net and no torch."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from c2s import data, errors, naming
from c2s.matrix import transition
from c2s.reading import encoding
from c2s.shape import Shape

Probabilities = npt.NDArray[np.float64]


class Interface:
    """Raw rows in, the meaning of probabilities out."""

    def __init__(self, card: dict[str, Any]) -> None:
        self.card = card
        self.labels: tuple[data.Label, ...] = tuple(card["labels"])  # the user's own values
        self.classes = tuple(str(label) for label in self.labels)
        groups = card.get("config", {}).get("merge") or ()  # older cards know of none
        self.places = naming.meant(self.classes, groups)  # the class that a label means, merged ones too
        self.shape = Shape(**card["shape"])
        self.transition = np.array(card["transition"]["matrix"], dtype=np.float64)  # (c, c)
        came = card["transition"].get("as_given")  # where labels were put right before training
        self.as_given = self.transition if came is None else np.array(came, dtype=np.float64)  # (c, c)
        self._heard = {True: self._witness(self.transition), False: self._witness(self.as_given)}
        self._encoding = encoding.parse(card["encoding"]) if card["encoding"] else None

    @property
    def spec(self) -> encoding.Encoding:
        """How raw rows become inputs: as the training rows did, or as arrays of their shape."""
        if self._encoding is not None:
            return self._encoding
        if self.shape.kind == "text":
            raise errors.InvalidDataset("the model was trained on bags of terms and cannot read texts")
        return self._array()

    def raw(self, rows: object) -> data.Inputs:
        """Rows as the user keeps them, turned into inputs the way the training rows were."""
        return encoding.apply(self.spec, rows)

    def culprit(self, rows: Sequence[object]) -> tuple[int, errors.InvalidDataset]:
        """Which of these rows, that cannot be read together, is the first at fault, and why."""
        fine, bad = 0, len(rows)  # the first `fine` rows can be read, the first `bad` cannot
        why = self._refusal(rows)
        while bad - fine > 1:
            middle = (fine + bad) // 2
            if (found := self._refusal(rows[:middle])) is None:
                fine = middle
            else:
                bad, why = middle, found
        return bad - 1, why or errors.InvalidDataset("the rows cannot be read")

    def _refusal(self, rows: Sequence[object]) -> errors.InvalidDataset | None:
        try:
            self.raw(rows)
        except errors.InvalidDataset as exc:
            return exc
        return None

    def fitting(self, inputs: data.Inputs) -> data.Inputs:
        """Inputs of the model's shape; others are `InvalidDataset`."""
        if not isinstance(inputs, data.Bags):
            if self.shape.kind == "text":
                raise errors.InvalidDataset("the model takes bags of terms, not an array")
            return encoding.apply(self._array(), inputs)
        if self.shape.kind != "text":
            raise errors.InvalidDataset(f"the model takes {self.shape.kind} rows, not bags of terms")
        if inputs.width != self.shape.width or not _inside(inputs):
            raise errors.InvalidDataset(
                f"the model knows {self.shape.width} terms, the bags speak of {inputs.width}"
            )
        return inputs

    def noisy_posterior(self, probs: Probabilities) -> Probabilities:
        """P(noisy class | row) = T^T f, (n, c): what a labeller as careless as the training data's would say."""
        found: Probabilities = probs @ self.as_given
        return found

    @property
    def audits(self) -> Literal["given", "corrected"]:
        """Which labels it judges best: as they come; or, where it knows no matrix of these, such as it was taught."""
        unknown = self.card.get("put_right") and self.card["transition"].get("as_given") is None
        return "corrected" if unknown else "given"

    def audit(
        self, probs: Probabilities, given: npt.NDArray[np.int64], *, corrected: bool = False
    ) -> Probabilities:
        """P(clean = k | row, label l), which is f_k T[k, l] up to its sum, (n, c); of labels put right if they are."""
        joint = probs * self._heard[corrected].T[given]  # (n, c)  P(clean = k, noisy = l | row)
        total = joint.sum(axis=1, keepdims=True)
        # a label that a given T holds for impossible says nothing against f
        return np.where(total > 0, joint / np.where(total > 0, total, 1.0), probs)

    def _witness(self, T: transition.Matrix) -> transition.Matrix:
        """T as far as its rows carry it; one that a user gave, or of which nothing is known, is taken at its word."""
        found = self.card["transition"]
        rows = found.get(
            "rows", self.card.get("dataset", {}).get("rows")
        )  # older cards: those of the dataset
        if found.get("estimator", "given") == "given" or rows is None:
            return T
        return transition.doubted(T, rows * np.array(found["priors"]))

    def _array(self) -> encoding.VectorEncoding | encoding.ImageEncoding:
        """What an array must look like, by the card's shape."""
        if self.shape.image is not None:
            height, width, channels = self.shape.image
            return encoding.ImageEncoding(height=height, width=width, channels=channels)
        if self.shape.width is None:
            raise errors.InvalidModel("the card does not say how wide the rows are")
        return encoding.VectorEncoding(width=self.shape.width)


def _inside(bags: data.Bags) -> bool:
    return len(bags.indices) == 0 or bool(bags.indices.min() >= 0 and bags.indices.max() < bags.width)
