"""The first module of every net: takes rows as the dataset stores them and brings them to one scale.

Means and deviations are buffers, so they travel in the weights and in an exported graph: whoever holds the net feeds
it raw rows.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

CHUNK = 2**21  # numbers looked at together: 16 MB as float64
RESOLUTION = 1e-7  # of float32: a spread below it is rounding, not information
NORMAL = float(np.finfo(np.float32).tiny)  # below it float32 keeps few digits, or none
REACH = 1e18  # deviations: the squares of more, which layers add up, leave float32

Rows = npt.NDArray[Any]
Numbers = npt.NDArray[np.int64]
Moment = npt.NDArray[np.float64]
Bag = tuple[Tensor, Tensor, Tensor]  # indices (entries,), offsets (b,), weights (entries,)


class Pixels(nn.Module):
    """Images (b, h, w[, c]), uint8 or floats in 0..1 -> (b, c, h, w) with channels last in memory."""

    mean: Tensor  # (c,) on the scale 0..1
    std: Tensor

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(channels))
        self.register_buffer("std", torch.ones(channels))

    def forward(self, x: Tensor) -> Tensor:
        if x.ndim == 3:
            x = x.unsqueeze(3)  # (b, h, w, 1)
        unit = 255.0 if x.dtype == torch.uint8 else 1.0
        scaled = torch.addcmul(-self.mean / self.std, x.to(self.mean.dtype), 1 / (unit * self.std))
        return scaled.permute(0, 3, 1, 2)  # (b, c, h, w), and no byte moves: channels are last in memory

    def measure(self, x: Rows, rows: Numbers | None = None) -> None:
        """Learn each channel's mean and deviation from images, or from the given rows of them."""
        images = x if x.ndim == 4 else x[..., None]  # (n, h, w, c)
        mean, std = moments(images, rows, unit=255.0 if x.dtype == np.uint8 else 1.0)
        _keep(self.mean, mean)
        _keep(self.std, std)


class Scale(nn.Module):
    """Vectors (b, d) -> every column with mean 0 and deviation 1."""

    mean: Tensor  # (d,)
    std: Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("std", torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        return (x.to(self.mean.dtype) - self.mean) / self.std

    def measure(self, x: Rows, rows: Numbers | None = None) -> None:
        """Learn each column's mean and deviation from vectors, or from the given rows of them."""
        mean, std = moments(x, rows)
        _keep(self.mean, mean)
        _keep(self.std, std)


class Bags(nn.Module):
    """Bags of terms, as they are: their weights are scaled where texts become bags."""

    def forward(self, bag: Bag) -> Bag:
        return bag


def moments(x: Rows, rows: Numbers | None = None, *, unit: float = 1.0) -> tuple[Moment, Moment]:
    """Mean and deviation of x / unit by its last axis, in bounded memory; a constant's is 1, so that it becomes 0."""
    count, mean, square = 0, np.zeros(x.shape[-1]), np.zeros(x.shape[-1])
    for part in _chunks(x, rows):
        columns = part.reshape(-1, part.shape[-1]).T.astype(np.float64, order="C")  # (c, m)
        columns /= unit
        centre, size = columns.mean(1), columns.shape[1]
        columns -= centre[:, None]
        delta, total = centre - mean, count + size
        # Chan's rule for joining two samples: a plain sum of squares loses a small spread about a large mean
        square += np.einsum("cm,cm->c", columns, columns) + delta**2 * (count * size / total)
        mean += delta * (size / total)
        count = total
    std = np.sqrt(square / max(count, 1))
    return mean, np.where(std > np.maximum(RESOLUTION * np.abs(mean), NORMAL), std, 1.0)


def stray(x: Rows, rows: Numbers) -> tuple[int, int] | None:
    """The first row of vectors, and its column, too far from the given rows for a net that is scaled by these."""
    mean, std = (moment.astype(np.float32) for moment in moments(x, rows))
    start = 0
    for part in _chunks(x, None):
        with np.errstate(over="ignore", invalid="ignore"):
            far = ~(np.abs((part - mean) / std) <= REACH)  # (m, d)
        if far.any():
            row, column = np.argwhere(far)[0].tolist()
            return start + row, column
        start += len(part)
    return None


def _chunks(x: Rows, rows: Numbers | None) -> Iterator[Rows]:
    step = max(1, CHUNK // max(1, int(np.prod(x.shape[1:]))))
    for start in range(0, len(x) if rows is None else len(rows), step):
        stop = start + step
        yield x[start:stop] if rows is None else x[rows[start:stop]]


def _keep(buffer: Tensor, values: Moment) -> None:
    buffer.copy_(torch.from_numpy(values))
