"""What a model says of rows."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from c2s.client import frames


class Predicted(frames.Rows):
    """One record a row: its class, its probability and what else was asked for; and the version that answered."""

    def __init__(self, parts: Sequence[dict[str, Any]]) -> None:
        super().__init__([row for part in parts for row in part["predictions"]])
        head = parts[0]
        self.model: str = head["model"]
        self.name: str = head["name"]
        self.version: int = head["version"]
        self.classes: list[str] = head["classes"]
        self.audited_as: str | None = head.get("audited_as")  # with labels: by which matrix they were judged

    @property
    def labels(self) -> list[str]:
        """The likeliest class of each row."""
        return [row["class"] for row in self]

    def to_numpy(self) -> npt.NDArray[np.float64]:
        """The probabilities (n, c), in the order of `classes`; not with `top_k`."""
        return np.array([row["probabilities"] for row in self], dtype=np.float64)

    @property
    def raw(self) -> dict[str, Any]:
        """As the service would have answered in one piece."""
        head = {"model": self.model, "name": self.name, "version": self.version, "classes": self.classes}
        told = {} if self.audited_as is None else {"audited_as": self.audited_as}
        return {**head, "predictions": list(self), **told}


def lots(sizes: Sequence[int], *, rows: int, size: int) -> Iterator[slice]:
    """Consecutive rows in lots of at most so many rows and bytes; a row that is larger goes alone."""
    start = total = 0
    for place, one in enumerate(sizes):
        if place > start and (place - start == rows or total + one > size):
            yield slice(start, place)
            start, total = place, 0
        total += one
    if start < len(sizes):
        yield slice(start, len(sizes))
