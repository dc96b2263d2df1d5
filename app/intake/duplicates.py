"""Rows whose inputs are equal once encoded, and those of them that carry different labels."""

import hashlib
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from app.intake import report
from c2s import data


def find(dataset: data.Dataset) -> tuple[report.Groups, report.Groups]:
    """The duplicates, and the duplicates that contradict each other."""
    marks = np.frombuffer(b"".join(_marks(dataset.x)), dtype=np.uint64)  # (rows,)
    _, group, sizes = np.unique(marks, return_inverse=True, return_counts=True)
    pairs = np.unique(group * len(dataset.labels) + dataset.y)  # a group and one of its labels
    labels = np.bincount(pairs // len(dataset.labels), minlength=len(sizes))
    return _groups(sizes, sizes > 1), _groups(sizes, labels > 1)


def _groups(sizes: npt.NDArray[np.int64], chosen: npt.NDArray[np.bool_]) -> report.Groups:
    return report.Groups(rows=int(sizes[chosen].sum()), groups=int(chosen.sum()))


def _marks(x: data.Inputs) -> Iterator[bytes]:
    """A short hash of every row."""
    if isinstance(x, data.Bags):
        for begin, end in zip(x.indptr[:-1].tolist(), x.indptr[1:].tolist(), strict=True):
            mark = hashlib.blake2b(x.indices[begin:end].tobytes(), digest_size=8)
            mark.update(x.weights[begin:end].tobytes())
            yield mark.digest()
        return
    for row in x:
        yield hashlib.blake2b(np.ascontiguousarray(row).data, digest_size=8).digest()
