"""What a phase remembers of its epochs: the metrics of all, and the weights that noisy validation prefers."""

import math
from collections.abc import Mapping
from typing import Any

from torch import Tensor

from c2s import config
from c2s.learning.trainee import Trainee

KEPT = "kept."


class Record:
    """The epochs of a phase so far; exactly one of them is kept."""

    def __init__(self, phase: str, epochs: int, stage: config.Stage, *, judges: int) -> None:
        self.phase = phase
        self.epochs = epochs
        self.stage = stage
        self.judges = judges  # rows that noisy-validation accuracy rests on
        self.history: list[dict[str, Any]] = []
        self._kept: dict[str, Tensor] = {}
        self._best: dict[str, Any] | None = None  # the epoch that validation prefers, be it kept or not

    @property
    def ended(self) -> bool:
        """All epochs are done, or none of the last few was better."""
        if len(self.history) == self.epochs:
            return True
        if self._best is None or self.stage.patience is None:
            return False
        return len(self.history) - 1 - int(self._best["epoch"]) >= self.stage.patience

    def add(self, metrics: Mapping[str, float], trainee: Trainee, *, seconds: float) -> None:
        """Note an epoch, and keep its weights if they are the best or the last is wanted."""
        better = self._better(metrics)
        kept = better or self.stage.keep == "last"
        if kept:
            self._kept = {KEPT + name: tensor.clone() for name, tensor in trainee.evaluated().items()}
            for entry in self.history:
                entry["kept"] = False
        facts = {"phase": self.phase, "epoch": len(self.history), "kept": kept, "seconds": seconds}
        self.history.append(facts | dict(metrics))
        if better:
            self._best = self.history[-1]

    def tensors(self) -> dict[str, Tensor]:
        """The kept weights, for a checkpoint."""
        return self._kept

    def restore(self, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
        """Become what a checkpoint described."""
        self._kept = {name: tensor for name, tensor in tensors.items() if name.startswith(KEPT)}
        self.history = list(facts["history"])
        self._best = None
        for entry in self.history:  # told by the metrics, so that states of before know it too
            if self._better(entry):
                self._best = entry

    def leave_kept(self, trainee: Trainee) -> None:
        """Put the kept weights back."""
        trainee.become({name.removeprefix(KEPT): tensor for name, tensor in self._kept.items()})

    def _better(self, metrics: Mapping[str, float]) -> bool:
        """More accurate on noisy validation; within half a standard error the forward likelihood decides."""
        if (best := self._best) is None:
            return True
        gain = float(metrics["accuracy"] - best["accuracy"])
        tie = 0.5 * math.sqrt(best["accuracy"] * (1 - best["accuracy"]) / self.judges)
        if abs(gain) <= tie:
            return bool(metrics["likelihood"] > best["likelihood"])
        return gain > 0
