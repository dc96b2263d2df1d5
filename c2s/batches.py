"""Whole-array batching: rows live in one tensor on the device where they fit, and a batch is one gather.

Rows that do not fit stay memory-mapped and are copied batch by batch. Augmentation is batched and runs on the
device; it belongs to training alone.
"""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from c2s import config, data

RESIDENT_BYTES = 4 * 2**30  # larger arrays stay on the disk
Batch = Tensor | tuple[Tensor, Tensor, Tensor]  # rows, or (indices, offsets, weights) of bags of terms


class Source:
    """The rows of a dataset, ready to be gathered into batches on a device."""

    def __init__(self, x: data.Inputs, device: torch.device, *, resident_bytes: int = RESIDENT_BYTES) -> None:
        self.x = x
        self.device = device
        fits = isinstance(x, np.ndarray) and x.nbytes <= resident_bytes
        self.resident = torch.tensor(np.asarray(x), device=device) if fits else None  # a copy: x is read-only

    def __len__(self) -> int:
        return len(self.x)

    def gather(self, rows: Tensor) -> Batch:
        """The batch of these rows, in this order."""
        if self.resident is not None:
            return self.resident[rows.to(self.device)]
        numbers = rows.cpu().numpy()
        if isinstance(self.x, data.Bags):
            bags = self.x.take(numbers)
            parts = (bags.indices, bags.indptr[:-1], bags.weights)
            indices, offsets, weights = (torch.from_numpy(part).to(self.device) for part in parts)
            return indices, offsets, weights
        return torch.from_numpy(self.x[numbers]).to(self.device)


def shuffled(rows: Tensor, size: int, generator: torch.Generator) -> Iterator[Tensor]:
    """The rows in random order, cut into batches; a last batch of a single row joins the one before it."""
    order = rows[torch.randperm(len(rows), generator=generator)]
    cuts = list(range(0, len(order), size))
    if len(cuts) > 1 and len(order) - cuts[-1] == 1:  # batch norm and pairs both need two rows
        cuts.pop()
    for start, stop in zip(cuts, [*cuts[1:], len(order)], strict=True):
        yield order[start:stop]


def augmented(images: Tensor, chosen: config.Augment, generator: torch.Generator) -> Tensor:
    """Images (b, h, w[, c]) shifted and flipped at random, each by its own draw."""
    if not (chosen.shift or chosen.flip):
        return images
    count, height, width = images.shape[:3]
    rows = torch.arange(height).expand(count, height)
    columns = torch.arange(width).expand(count, width)
    if chosen.flip:
        turned = torch.rand(count, generator=generator) < 0.5
        columns = torch.where(turned[:, None], columns.flip(1), columns)
    if chosen.shift:
        reach = chosen.shift
        dy, dx = torch.randint(0, 2 * reach + 1, (2, count, 1), generator=generator)
        rows, columns = rows + dy, columns + dx
        padding = (0, 0) * (images.ndim - 3) + (reach, reach, reach, reach)
        images = torch.nn.functional.pad(images, padding)
    which = torch.arange(count)[:, None, None]
    at = (which, rows[:, :, None], columns[:, None, :])  # (b, h, w)
    return images[tuple(index.to(images.device) for index in at)]
