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
Bags = tuple[Tensor, Tensor, Tensor]  # indices, offsets, weights of bags of terms
Batch = Tensor | Bags


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


def mixed(x: Batch, other: Batch, share: float) -> Batch:
    """Each row with its partner: `share` of the one, the rest of the other; images become floats from 0 to 1."""
    if isinstance(x, Tensor) and isinstance(other, Tensor):
        unit = 255.0 if x.dtype == torch.uint8 else 1.0
        return (share * x.float() + (1 - share) * other.float()) / unit
    if isinstance(x, Tensor) or isinstance(other, Tensor):
        raise TypeError("rows and bags cannot be mixed")
    return _joined(x, other, share)


def _joined(bag: Bags, other: Bags, share: float) -> Bags:
    """A text and its partner in one bag, with the weights of both scaled: embeddings add up."""
    lengths = torch.stack([_lengths(bag), _lengths(other)])  # (2, b)
    owners = [torch.repeat_interleave(length) for length in lengths]  # the row of each entry
    order = torch.cat(owners).argsort(stable=True)
    indices = torch.cat([bag[0], other[0]])[order]
    weights = torch.cat([share * bag[2], (1 - share) * other[2]])[order]
    both = lengths.sum(0)
    return indices, both.cumsum(0) - both, weights


def _lengths(bag: Bags) -> Tensor:
    ends = torch.cat([bag[1][1:], bag[1].new_tensor([len(bag[0])])])
    return ends - bag[1]  # (b,)
