"""An epoch that was stopped between two batches: how far it is, its loss so far, and where its draws stand.

The order of the rows is not kept: it is the first draw of the epoch's stream, and is drawn again. A GPU's own draws
(dropout) begin again with the rest of the epoch: only a CPU's are promised to be those of an undisturbed run.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor

PREFIX = "underway."


@dataclass(frozen=True)
class Underway:
    """The state of an epoch after `step` of its batches."""

    step: int
    total: Tensor  # the loss of the rows so far
    draws: Tensor  # state of the generator of batches and augmentation
    net: Tensor  # state of the generator that layers draw from

    def tensors(self) -> dict[str, Tensor]:
        """All but the step, for a checkpoint."""
        return {PREFIX + "total": self.total, PREFIX + "draws": self.draws, PREFIX + "net": self.net}

    @classmethod
    def restored(cls, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> Self | None:
        """What a checkpoint described; None: it was made between epochs."""
        if "step" not in facts:
            return None
        return cls(int(facts["step"]), *(tensors[PREFIX + name] for name in ("total", "draws", "net")))

    def resume(self, draws: torch.Generator) -> None:
        """Set the generators where they stood."""
        draws.set_state(self.draws)
        torch.set_rng_state(self.net)
