"""What training changes: the net, its weight average, the transition module and their optimisers, as one state."""

import copy
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from c2s import config
from c2s.learning.optimizers import SGD, Adam, Optimizer
from c2s.methods.matrices import TransitionModule
from c2s.nets.twins import Twins


class Trainee:
    """A net in training; `tensors` and `restore` carry all of it through a checkpoint, bit for bit."""

    def __init__(self, net: nn.Module, T: TransitionModule, stage: config.Stage, *, rows: int = 0) -> None:
        self.net = net
        self.T = T
        self.average = copy.deepcopy(net).requires_grad_(False) if stage.ema else net
        self._live, self._slow = _floats(net), _floats(self.average)
        self.optimizers = [_optimizer(net, stage)]
        if T.learning_rate is not None:  # T moves by its own rule, unscheduled and without decay
            self.optimizers.append(Adam(T.parameters(), rate=T.learning_rate))
        kept = (2 if isinstance(net, Twins) else 1, rows if stage.elr else 0, len(T.class_matrix()))
        # (nets, n, c)  what early-learning regularisation remembers of each row
        self.memory = torch.zeros(kept, device=T.class_matrix().device)

    def follow(self, decay: float) -> None:
        """Move the average towards the net: weights and batch-norm statistics alike."""
        torch._foreach_lerp_(self._slow, self._live, 1 - decay)

    def evaluated(self) -> dict[str, Tensor]:
        """The weights that are judged, kept and served, with the matrix that belongs to them."""
        found = {f"net.{name}": tensor for name, tensor in _state(self.average).items()}
        return found | {f"T.{name}": tensor for name, tensor in _state(self.T).items()}

    def become(self, evaluated: Mapping[str, Tensor]) -> None:
        """Take on weights that `evaluated` gave earlier."""
        self.average.load_state_dict(_under("net.", evaluated))
        self.T.load_state_dict(_under("T.", evaluated))

    def tensors(self) -> dict[str, Tensor]:
        """Everything that the next epoch depends on."""
        found = {f"net.{name}": tensor for name, tensor in _state(self.net).items()}
        found |= {f"T.{name}": tensor for name, tensor in _state(self.T).items()}
        if self.average is not self.net:
            found |= {f"average.{name}": tensor for name, tensor in _state(self.average).items()}
        if self.memory.numel():
            found["memory"] = self.memory
        for number, optimizer in enumerate(self.optimizers):
            for place, slots in optimizer.slots.items():
                found |= {f"optimizer.{number}.{place}.{slot}": value for slot, value in slots.items()}
        return found

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Become what `tensors` described."""
        self.net.load_state_dict(_under("net.", tensors))
        self.T.load_state_dict(_under("T.", tensors))
        if self.average is not self.net:
            self.average.load_state_dict(_under("average.", tensors))
        if self.memory.numel():
            self.memory.copy_(tensors["memory"])
        for number, optimizer in enumerate(self.optimizers):
            optimizer.restore(_under(f"optimizer.{number}.", tensors))


def _optimizer(net: nn.Module, stage: config.Stage) -> Optimizer:
    parameters = [parameter for parameter in net.parameters() if parameter.requires_grad]
    rate, decay = stage.learning_rate, stage.weight_decay
    if stage.optimizer == "adam":
        return Adam(parameters, rate=rate, decay=decay, fused=True)
    return SGD(parameters, rate=rate, momentum=stage.momentum, decay=decay)


def _state(module: nn.Module) -> dict[str, Tensor]:
    return {name: tensor.detach() for name, tensor in module.state_dict().items()}


def _floats(module: nn.Module) -> list[Tensor]:
    return [tensor for tensor in _state(module).values() if tensor.is_floating_point()]


def _under(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}
