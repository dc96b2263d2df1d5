"""Rows held out of a training, as its published classifier sees them: one Parquet file of a result folder."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FILE = "held.parquet"


class Held(NamedTuple):
    """Rows held out: their ids, given classes, and what the published classifier says of them."""

    ids: list[str]
    given: NDArray[np.int64]  # places among the labels as they came, whatever was merged
    predicted: NDArray[np.int64]
    probability: NDArray[np.float64]  # of the predicted class

    def without(self, known: AbstractSet[str]) -> Held:
        """The rows that have other ids than these."""
        kept = np.array([name not in known for name in self.ids], dtype=np.bool_)
        ids = [name for name in self.ids if name not in known]
        return Held(ids, self.given[kept], self.predicted[kept], self.probability[kept])


def save(path: Path, held: Held) -> None:
    """Write what the classifier says of the rows held out."""
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(
        pa.table({"id": held.ids, **dict(zip(Held._fields[1:], held[1:], strict=True))}), path
    )


def load(path: Path) -> Held:
    """Read it."""
    from pyarrow import parquet

    table = parquet.read_table(path, use_threads=False)
    return Held(table["id"].to_pylist(), *(table[name].to_numpy() for name in Held._fields[1:]))
