"""ResNet-50 under torchvision's names, so that weights pretrained there load as they are."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional

from c2s import errors
from c2s.nets import weights

EXPANSION = 4
STAGES = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))  # width, blocks, stride
HEAD = "fc."


class Bottleneck(nn.Module):
    """1x1 down, 3x3 (which strides, as in torchvision), 1x1 up, and the shortcut."""

    def __init__(self, before: int, width: int, stride: int) -> None:
        super().__init__()
        after = EXPANSION * width
        self.conv1 = nn.Conv2d(before, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, after, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(after)
        self.downsample = None
        if before != after:
            self.downsample = nn.Sequential(
                nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after)
            )

    def forward(self, x: Tensor) -> Tensor:
        h = functional.relu(self.bn1(self.conv1(x)), inplace=True)
        h = functional.relu(self.bn2(self.conv2(h)), inplace=True)
        h = self.bn3(self.conv3(h))  # (b, 4 width, h / stride, w / stride)
        h += x if self.downsample is None else self.downsample(x)
        return functional.relu(h, inplace=True)


class ResNet50(nn.Module):
    """(b, c, h, w) -> logits (b, classes)."""

    def __init__(self, channels: int, classes: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, 64, 7, 2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        before = 64
        for number, (width, depth, stride) in enumerate(STAGES, start=1):
            blocks = [Bottleneck(before, width, stride)]
            before = EXPANSION * width
            blocks += [Bottleneck(before, width, 1) for _ in range(depth - 1)]
            self.add_module(f"layer{number}", nn.Sequential(*blocks))
        self.fc = nn.Linear(before, classes)
        weights.he_fan_out(self)

    def forward(self, x: Tensor) -> Tensor:
        h = functional.relu(self.bn1(self.conv1(x)), inplace=True)  # (b, 64, h / 2, w / 2)
        h = functional.max_pool2d(h, 3, 2, padding=1)
        for number in range(1, len(STAGES) + 1):
            h = self.get_submodule(f"layer{number}")(h)
        logits: Tensor = self.fc(h.mean((2, 3)))  # (b, 2048) -> (b, classes)
        return logits


def load_backbone(net: ResNet50, tensors: Mapping[str, Tensor]) -> None:
    """Copy pretrained weights into all of `net` but its head; what does not fit is `InvalidModel`."""
    own = {name: value for name, value in net.state_dict().items() if not name.startswith(HEAD)}
    given = {name: value for name, value in tensors.items() if not name.startswith(HEAD)}
    counters = {name for name in own if name.endswith("num_batches_tracked")}  # older files lack them
    if missing := sorted(own.keys() - given.keys() - counters):
        raise errors.InvalidModel(f"the pretrained weights lack {_some(missing)}")
    if unknown := sorted(given.keys() - own.keys()):
        raise errors.InvalidModel(f"the pretrained weights are another net's: they hold {_some(unknown)}")
    if misshapen := [
        _misfit(name, given[name], own[name]) for name in given if given[name].shape != own[name].shape
    ]:
        raise errors.InvalidModel(f"the pretrained weights have the wrong shape: {_some(misshapen)}")
    with torch.no_grad():
        for name, value in given.items():
            own[name].copy_(value)


def _misfit(name: str, given: Tensor, own: Tensor) -> str:
    return f"{name} is {tuple(given.shape)} instead of {tuple(own.shape)}"


def _some(facts: list[str]) -> str:
    rest = len(facts) - 5
    return ", ".join(facts[:5]) + (f" and {rest} more" if rest > 0 else "")
