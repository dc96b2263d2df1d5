"""Weights before training; every draw comes from torch's global generator."""

from torch import nn


def he_fan_out(net: nn.Module) -> None:
    """He-normal, by fan-out, for every convolution; the other layers keep torch's own start."""
    for layer in net.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
