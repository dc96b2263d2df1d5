"""Pre-activation ResNet-56 (He et al. 2016): 6n + 2 layers with n = 9, widths 16, 32, 64."""

import itertools

from torch import Tensor, nn
from torch.nn import functional

from c2s.nets import weights

DEPTH = 9  # blocks a stage
WIDTHS = (16, 32, 64)


class Block(nn.Module):
    """Norm and ReLU come before each convolution, so the sum itself passes unchanged from block to block."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.norm1 = nn.BatchNorm2d(before)
        self.conv1 = nn.Conv2d(before, after, 3, stride, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(after)
        self.conv2 = nn.Conv2d(after, after, 3, padding=1, bias=False)
        self.shortcut = nn.Conv2d(before, after, 1, stride, bias=False) if before != after else None

    def forward(self, x: Tensor) -> Tensor:
        active = functional.relu(self.norm1(x), inplace=True)
        straight = x if self.shortcut is None else self.shortcut(active)
        h = self.conv1(active)  # (b, after, h / stride, w / stride)
        h = self.conv2(functional.relu(self.norm2(h), inplace=True))
        return straight + h  # type: ignore[no-any-return]


class PreActResNet56(nn.Module):
    """(b, c, h, w) -> logits (b, classes)."""

    def __init__(self, channels: int, classes: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, WIDTHS[0], 3, padding=1, bias=False)
        blocks = [Block(WIDTHS[0], WIDTHS[0], 1) for _ in range(DEPTH)]
        for before, after in itertools.pairwise(WIDTHS):
            blocks += [Block(before, after, 2), *(Block(after, after, 1) for _ in range(DEPTH - 1))]
        self.blocks = nn.Sequential(*blocks)
        self.norm = nn.BatchNorm2d(WIDTHS[-1])
        self.head = nn.Linear(WIDTHS[-1], classes)
        weights.he_fan_out(self)

    def forward(self, x: Tensor) -> Tensor:
        h = functional.relu(self.norm(self.blocks(self.conv(x))))
        logits: Tensor = self.head(h.mean((2, 3)))  # (b, 64) -> (b, classes)
        return logits
