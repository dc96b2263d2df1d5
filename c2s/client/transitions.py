"""The transition matrix of a job: rows are true classes, columns the labels that they were given."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from c2s.client import frames, markup

Matrix = npt.NDArray[np.float64]


class Transition:
    """How the labels came to be wrong; `raw` is all that `GET /jobs/{id}/transition` tells."""

    def __init__(self, raw: Mapping[str, Any]) -> None:
        self.raw: dict[str, Any] = dict(raw)
        self.classes: list[str] = self.raw["classes"]
        self.matrix: list[list[float]] = self.raw["matrix"]
        self.final: bool = self.raw["final"]
        self.estimator: str = self.raw["estimator"]
        self.noise_rate: dict[str, float] = self.raw["noise_rate"]
        self.similarity: dict[str, float] = self.raw["similarity"]
        self.warnings: list[str] = self.raw["learnability"]["warnings"]

    def to_numpy(self) -> Matrix:
        """T_c: entry (i, j) is P(label j | class i), in the order of `classes`."""
        return np.array(self.matrix, dtype=np.float64)

    def similarity_to_numpy(self) -> Matrix:
        """T_s: index 0 is dissimilar, 1 is similar, as in the paper."""
        t00, t01, t10, t11 = (self.similarity[name] for name in ("t00", "t01", "t10", "t11"))
        return np.array([[t00, t01], [t10, t11]])

    def to_pandas(self) -> Any:
        """T_c as a DataFrame: the index are true classes, the columns given labels."""
        return frames.pandas().DataFrame(self.to_numpy(), index=self.classes, columns=self.classes)

    def __repr__(self) -> str:
        rate = self.noise_rate["class"]
        return f"<Transition of {len(self.classes)} classes, {rate:.1%} of the labels wrong>"

    def _repr_html_(self) -> str:
        rates = self.noise_rate
        caption = (
            f"T_c by {self.estimator}: {rates['class']:.1%} of the labels wrong, "
            f"{rates['similarity']:.1%} of the pairs"
        )
        notes = "".join(f"<p>{markup.text(note)}</p>" for note in self.warnings)
        return markup.heat_map(self.matrix, self.classes, caption=caption) + notes
