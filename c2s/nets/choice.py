"""From a config and the shape of the data to a net."""

from collections.abc import Mapping
from typing import assert_never

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from c2s import config, data, errors
from c2s.nets import inputs, lenet, mlp, preact, resnet50, shakeshake, text
from c2s.nets.classifier import Classifier
from c2s.shape import SMALLEST_SIDE, Shape


def build(chosen: config.NetConfig, shape: Shape) -> Classifier:
    """The net that a config names, with new weights from torch's global generator."""
    match chosen:
        case config.AutoNet():
            raise errors.InvalidConfig("the net is still `auto`: it is chosen before anything is built")
        case config.LeNet() | config.LeNet5() | config.ShakeShake26() | config.ResNet56() | config.ResNet50():
            height, width, channels = _image(chosen.name, shape)
            body = _reader(chosen, (height, width, channels), shape.classes)
            net = Classifier(inputs.Pixels(channels), body)
            # how `Pixels` hands images over; torch's type stubs do not know the argument
            net.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
            return net
        case config.Mlp():
            wide = _width(chosen.name, shape, "vectors", "tabular")
            body = mlp.Mlp(wide, shape.classes, hidden=chosen.hidden, dropout=chosen.dropout)
            return Classifier(inputs.Scale(wide), body)
        case config.TextNet():
            terms = _width(chosen.name, shape, "text")
            words = text.WordVectors(terms, shape.vectors or chosen.embedding, learnt=shape.vectors is None)
            size = words.weight.shape[1]
            body = mlp.Mlp(size, shape.classes, hidden=chosen.hidden, dropout=chosen.dropout)
            return Classifier(inputs.Bags(), text.TextNet(words, body))
        case other:
            assert_never(other)


def build_for(chosen: config.NetConfig, dataset: data.Dataset, rows: data.Labels) -> Classifier:
    """The net for a dataset: scaled by its training rows, and with its word vectors where it has some."""
    net = build(chosen, dataset.shape)
    if isinstance(net.inputs, inputs.Pixels | inputs.Scale) and isinstance(dataset.x, np.ndarray):
        net.inputs.measure(dataset.x, rows)
    elif dataset.vectors is not None:
        _give_words(net.get_buffer("body.words.weight"), dataset.vectors)
    return net


def _give_words(table: Tensor, vectors: npt.NDArray[np.float32]) -> None:
    if len(vectors) != len(table):
        raise errors.InvalidDataset(f"{len(table)} terms need as many word vectors, there are {len(vectors)}")
    table.copy_(torch.tensor(vectors))  # a copy: the array may be read-only


def start_from(net: Classifier, backbone: Mapping[str, Tensor]) -> None:
    """Give a ResNet-50 pretrained weights, under torchvision's names; its head stays new."""
    if not isinstance(net.body, resnet50.ResNet50):
        raise errors.InvalidConfig("pretrained weights are for net resnet-50")
    resnet50.load_backbone(net.body, backbone)


def parameters(net: nn.Module) -> int:
    """How many numbers training changes."""
    return sum(parameter.numel() for parameter in net.parameters() if parameter.requires_grad)


ImageNet = config.LeNet | config.LeNet5 | config.ShakeShake26 | config.ResNet56 | config.ResNet50


def _reader(chosen: ImageNet, image: tuple[int, int, int], classes: int) -> nn.Module:
    channels = image[2]
    match chosen:
        case config.LeNet():
            return lenet.LeNet(image, classes)
        case config.LeNet5():
            return lenet.LeNet5(image, classes)
        case config.ShakeShake26(width=width):
            if width < 2:
                raise errors.InvalidConfig(
                    "net shake-shake-26 needs a width of at least 2: it halves its maps"
                )
            return shakeshake.ShakeShake26(channels, classes, width=width)
        case config.ResNet56():
            return preact.PreActResNet56(channels, classes)
        case config.ResNet50():
            return resnet50.ResNet50(channels, classes)
        case other:
            assert_never(other)


def _image(name: str, shape: Shape) -> tuple[int, int, int]:
    if shape.kind != "image" or shape.image is None:
        raise errors.InvalidConfig(f"net {name} reads images, the dataset holds {shape.kind} rows")
    if name.startswith("lenet") and min(shape.image[:2]) < SMALLEST_SIDE:
        size = f"{shape.image[0]}x{shape.image[1]}"
        raise errors.InvalidConfig(
            f"net {name} needs images of {SMALLEST_SIDE}x{SMALLEST_SIDE} or more, not {size}"
        )
    return shape.image


def _width(name: str, shape: Shape, *kinds: str) -> int:
    if shape.kind not in kinds or shape.width is None:
        wanted = " or ".join(kinds)
        raise errors.InvalidConfig(f"net {name} reads {wanted} rows, the dataset holds {shape.kind} rows")
    return shape.width
