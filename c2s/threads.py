"""How many threads a training takes in a process that is the user's own; the service says it by a setting."""

import contextlib
from collections.abc import Iterator

import numpy as np
import torch

from c2s import data

WIDE = 512  # numbers a row: the products of fewer are over before a second thread has heard of them
LONG = 64  # terms a text, on average: the same


@contextlib.contextmanager
def suited(dataset: data.Dataset) -> Iterator[None]:
    """One thread while narrow rows are learnt from, then as many as before.

    Threads that wait for each other spin, and where something else runs they starve each other: 600 rows of 4 numbers
    took 64 s of processor by two threads on two busy cores, and 2.4 s by one; 30 short texts 40 s and 4.6 (one run
    each).
    """
    before = torch.get_num_threads()
    if _narrow(dataset):
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _narrow(dataset: data.Dataset) -> bool:
    if isinstance(dataset.x, data.Bags):
        return len(dataset.x.indices) <= LONG * len(dataset.x)
    return dataset.kind != "image" and isinstance(dataset.x, np.ndarray) and dataset.x[:1].size <= WIDE
