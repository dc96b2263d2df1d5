"""The paper's LeNet variant for MNIST, and the classic LeNet-5."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from c2s.nets import fused


class LeNet(nn.Module):
    """Two 5x5 convolutions of 20 and 50 maps, 500 units without activation as in the authors' code, logits."""

    def __init__(self, image: tuple[int, int, int], classes: int) -> None:
        super().__init__()
        height, width, channels = image
        self.first = fused.ConvNormPool(channels, 20)
        self.second = fused.ConvNormPool(20, 50)
        self.hidden = nn.Linear(50 * (height // 4) * (width // 4), 500)
        self.norm = nn.BatchNorm1d(500)
        self.head = nn.Linear(500, classes)

    def forward(self, x: Tensor) -> Tensor:
        h = self.second(self.first(x))  # (b, 50, h / 4, w / 4)
        flat = h.permute(0, 2, 3, 1).flatten(1)  # as it lies in memory: channels are last
        logits: Tensor = self.head(self.norm(self.hidden(flat)))
        return logits


class LeNet5(nn.Module):
    """6 and 16 maps, 120 and 84 units; 28x28 images are padded to the 32x32 of the original."""

    def __init__(self, image: tuple[int, int, int], classes: int) -> None:
        super().__init__()
        height, width, channels = image
        side = min(height, width)
        self.conv1 = nn.Conv2d(channels, 6, 5, padding=0 if side >= 32 else 2)
        # the second is unpadded in the original; small images would vanish in it
        self.conv2 = nn.Conv2d(6, 16, 5, padding=0 if side >= 12 else 2)
        with torch.no_grad():
            features = self._maps(torch.zeros(1, channels, height, width)).numel()
        self.fc1 = nn.Linear(features, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, classes)

    def _maps(self, x: Tensor) -> Tensor:
        for conv in (self.conv1, self.conv2):
            x = functional.relu(functional.max_pool2d(conv(x), 2))  # pooling first: the same, on a quarter
        return x

    def forward(self, x: Tensor) -> Tensor:
        flat = self._maps(x).permute(0, 2, 3, 1).flatten(1)
        h = functional.relu(self.fc2(functional.relu(self.fc1(flat))))
        logits: Tensor = self.fc3(h)
        return logits
