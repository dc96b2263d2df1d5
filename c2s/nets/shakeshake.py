"""Shake-shake ResNet-26 2x32d (Gastaldi 2017), the paper's net for CIFAR-10: two branches, mixed at random per image.

Draws come from torch's global generator, so whoever seeds it repeats the run.
"""

import torch
from torch import Tensor, nn
from torch.autograd.function import FunctionCtx, once_differentiable
from torch.nn import functional

from c2s.nets import weights

DEPTH = 4  # blocks a stage
STEM = 16


class Shake(torch.autograd.Function):
    """alpha a + (1 - alpha) b forward, but beta and 1 - beta backward, each (b, 1, 1, 1)."""

    @staticmethod
    def forward(ctx: FunctionCtx, a: Tensor, b: Tensor, alpha: Tensor, beta: Tensor) -> Tensor:
        ctx.save_for_backward(beta)
        return torch.lerp(b, a, alpha)

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor, Tensor, None, None]:
        (beta,) = ctx.saved_tensors  # type: ignore[attr-defined]
        first = grad * beta
        return first, grad - first, None, None


def mix(a: Tensor, b: Tensor, *, training: bool) -> Tensor:
    """Two branches as one: evenly in evaluation, shaken per image in training."""
    if not training:
        return torch.lerp(a, b, 0.5)
    alpha, beta = torch.rand(2, len(a), 1, 1, 1, dtype=a.dtype, device=a.device)
    mixed: Tensor = Shake.apply(a, b, alpha, beta)
    return mixed


class Branch(nn.Sequential):
    """3x3, norm, ReLU, 3x3, norm."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__(
            nn.Conv2d(before, after, 3, stride, padding=1, bias=False),
            nn.BatchNorm2d(after),
            nn.ReLU(inplace=True),
            nn.Conv2d(after, after, 3, padding=1, bias=False),
            nn.BatchNorm2d(after),
        )


class Shortcut(nn.Module):
    """A change of width: half the channels from the maps, half from the maps moved by one pixel."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.stride = stride
        self.here = nn.Conv2d(before, after // 2, 1, bias=False)
        self.beside = nn.Conv2d(before, after - after // 2, 1, bias=False)
        self.norm = nn.BatchNorm2d(after)

    def forward(self, x: Tensor) -> Tensor:
        moved = functional.pad(x, (-1, 1, -1, 1))  # (b, c, h, w), one row and column further
        step = self.stride
        halves = self.here(x[:, :, ::step, ::step]), self.beside(moved[:, :, ::step, ::step])
        joined: Tensor = self.norm(torch.cat(halves, 1))  # (b, after, h / stride, w / stride)
        return joined


class Block(nn.Module):
    """The shortcut plus a random mixture of two branches."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.left = Branch(before, after, stride)
        self.right = Branch(before, after, stride)
        self.shortcut = None if before == after else Shortcut(before, after, stride)

    def forward(self, x: Tensor) -> Tensor:
        active = functional.relu(x)  # once, for both branches and for a shortcut that changes the width
        mixed = mix(self.left(active), self.right(active), training=self.training)
        return mixed + (x if self.shortcut is None else self.shortcut(active))


class ShakeShake26(nn.Module):
    """(b, c, h, w) -> logits (b, classes); `width` is that of the first of three stages."""

    def __init__(self, channels: int, classes: int, *, width: int = 32) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, STEM, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(STEM)
        blocks, before = [], STEM
        for after, stride in ((width, 1), (2 * width, 2), (4 * width, 2)):
            blocks += [Block(before, after, stride), *(Block(after, after, 1) for _ in range(DEPTH - 1))]
            before = after
        self.blocks = nn.Sequential(*blocks)
        self.head = nn.Linear(before, classes)
        weights.he_fan_out(self)

    def forward(self, x: Tensor) -> Tensor:
        h = functional.relu(self.blocks(self.norm(self.conv(x))))
        logits: Tensor = self.head(h.mean((2, 3)))  # (b, 4 width) -> (b, classes)
        return logits
