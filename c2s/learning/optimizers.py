"""Adam and SGD by torch's own kernels, without the classes of `torch.optim`.

The first instance of those loads torch's compiler, which nothing here uses: 2.5 of the 5.4 seconds of processor that a
process takes which trains two epochs on 300 rows.
"""

from collections.abc import Iterable, Mapping
from typing import Final, Protocol

import torch
from torch import Tensor
from torch.optim.adam import adam
from torch.optim.sgd import sgd

BETAS: Final = (0.9, 0.999)  # Kingma and Ba's
EPS: Final = 1e-8


class Optimizer(Protocol):
    """What moves parameters by their gradients, and what it remembers of each by its place among them."""

    parameters: list[Tensor]
    rate: float
    slots: dict[int, dict[str, Tensor]]

    def step(self) -> None:
        """Move every parameter that has a gradient."""

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Remember what `slots` held once, by "place.slot"."""


class Adam:
    """Kingma and Ba 2015, decay as part of the gradient; `fused` is one kernel for all parameters."""

    def __init__(
        self, parameters: Iterable[Tensor], *, rate: float, decay: float = 0.0, fused: bool | None = None
    ) -> None:
        self.parameters = list(parameters)
        self.rate, self.decay, self.fused = rate, decay, fused
        self.slots: dict[int, dict[str, Tensor]] = {}

    @torch.no_grad()
    def step(self) -> None:
        """Move every parameter that has a gradient."""
        moved, grads = _moved(self.parameters)
        slots = [self.slots.get(place) or self._begin(place) for place in moved]
        adam(
            list(moved.values()),
            grads,
            [slot["exp_avg"] for slot in slots],
            [slot["exp_avg_sq"] for slot in slots],
            [],
            [slot["step"] for slot in slots],
            fused=self.fused,
            amsgrad=False,
            beta1=BETAS[0],
            beta2=BETAS[1],
            lr=self.rate,
            weight_decay=self.decay,
            eps=EPS,
            maximize=False,
        )

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Remember what `slots` held once, by "place.slot"."""
        self.slots = _slots(self.parameters, tensors)
        for place, slots in self.slots.items():
            slots["step"] = slots["step"].to(self._clock(self.parameters[place]))

    def _begin(self, place: int) -> dict[str, Tensor]:
        parameter = self.parameters[place]
        self.slots[place] = {
            "step": torch.zeros((), device=self._clock(parameter)),
            "exp_avg": torch.zeros_like(parameter, memory_format=torch.preserve_format),
            "exp_avg_sq": torch.zeros_like(parameter, memory_format=torch.preserve_format),
        }
        return self.slots[place]

    def _clock(self, parameter: Tensor) -> torch.device:
        """Where steps are counted: beside the parameter for the one kernel, else where Python reads them."""
        return parameter.device if self.fused else torch.device("cpu")


class SGD:
    """Gradient descent with momentum, decay as part of the gradient."""

    def __init__(self, parameters: Iterable[Tensor], *, rate: float, momentum: float, decay: float) -> None:
        self.parameters = list(parameters)
        self.rate, self.momentum, self.decay = rate, momentum, decay
        self.slots: dict[int, dict[str, Tensor]] = {}

    @torch.no_grad()
    def step(self) -> None:
        """Move every parameter that has a gradient."""
        moved, grads = _moved(self.parameters)
        buffers = [self.slots.get(place, {}).get("momentum_buffer") for place in moved]
        sgd(
            list(moved.values()),
            grads,
            buffers if self.momentum else [],
            fused=True,
            weight_decay=self.decay,
            momentum=self.momentum,
            lr=self.rate,
            dampening=0.0,
            nesterov=False,
            maximize=False,
        )
        for place, buffer in zip(moved, buffers, strict=True):
            if buffer is not None:
                self.slots[place] = {"momentum_buffer": buffer}

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Remember what `slots` held once, by "place.slot"."""
        self.slots = _slots(self.parameters, tensors)


def _moved(parameters: list[Tensor]) -> tuple[dict[int, Tensor], list[Tensor]]:
    """The parameters that have a gradient, by their places, and the gradients."""
    found = {place: one for place, one in enumerate(parameters) if one.grad is not None}
    return found, [one.grad for one in found.values() if one.grad is not None]


def _slots(parameters: list[Tensor], tensors: Mapping[str, Tensor]) -> dict[int, dict[str, Tensor]]:
    slots: dict[int, dict[str, Tensor]] = {}
    for name, value in tensors.items():
        place, slot = name.split(".")
        like = parameters[int(place)]
        if value.shape == like.shape:  # fused kernels read raw memory: the layout must be the parameter's
            value = torch.empty_like(like, dtype=value.dtype, requires_grad=False).copy_(value)
        slots.setdefault(int(place), {})[slot] = value
    return slots
