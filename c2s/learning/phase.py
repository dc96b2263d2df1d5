"""One training, described: which rows with which targets, by which method, and the noisy rows that judge it."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from c2s import config, errors, splits
from c2s.methods.method import Method

Labels = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Phase:
    """What a training needs but its rows and its net."""

    name: str
    stage: config.Stage
    method: Method
    targets: Labels  # (n,)
    rows: Labels  # trained on
    holdout: Labels  # judged on
    y: Labels  # (n,) noisy labels
    seed: int

    @property
    def epochs(self) -> int:
        if self.stage.epochs is None:
            raise errors.InvalidConfig(f"{self.name}: the number of epochs is not resolved")
        return self.stage.epochs

    @property
    def batch_size(self) -> int:
        if self.stage.batch_size is None:
            raise errors.InvalidConfig(f"{self.name}: the batch size is not resolved")
        return self.stage.batch_size

    @property
    def steps(self) -> int:
        """Batches per epoch."""
        return splits.batches(len(self.rows), self.batch_size)
