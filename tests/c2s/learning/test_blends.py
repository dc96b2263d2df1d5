"""One net of several: means of weights, and norms that fit them."""

import copy

import numpy as np
import torch
from torch import nn

from c2s.learning import batches, blends
from c2s.nets import fused, mlp


def source(x: np.ndarray) -> batches.Source:
    return batches.Source(x, torch.device("cpu"))


def test_weights_are_averaged_by_their_shares_and_the_nets_stay_as_they_are():
    first, second = nn.Linear(2, 2), nn.Linear(2, 2)
    before = copy.deepcopy(first.state_dict())
    made = blends.blend([first, second], [0.25, 0.75])
    torch.testing.assert_close(made.weight, 0.25 * first.weight + 0.75 * second.weight)
    assert all(torch.equal(before[name], tensor) for name, tensor in first.state_dict().items())


def test_the_blend_of_a_net_with_itself_is_that_net():
    torch.manual_seed(0)
    net = mlp.Mlp(4, 3, hidden=(8,)).eval()
    made = blends.blend([net, copy.deepcopy(net)], [0.5, 0.5]).eval()
    x = torch.randn(5, 4)
    torch.testing.assert_close(made(x), net(x))


def test_norms_are_measured_as_one_pass_over_all_rows_would():
    torch.manual_seed(0)
    net = mlp.Mlp(4, 3, hidden=(8,), dropout=0.5)
    x = np.random.default_rng(0).normal(3, 2, (1300, 4)).astype(np.float32)
    draws = torch.Generator().manual_seed(0)
    blends.measure_norms(net, source(x), torch.arange(1300), draws)
    inner = net[0](torch.from_numpy(x))  # what the first norm sees
    torch.testing.assert_close(net[1].running_mean, inner.mean(0), atol=0.05, rtol=0.02)
    torch.testing.assert_close(net[1].running_var, inner.var(0), atol=0.1, rtol=0.05)
    assert net[1].momentum == nn.BatchNorm1d(1).momentum
    assert not any(part.training for part in net.modules())


def test_measuring_draws_nothing_and_depends_on_its_own_stream_alone():
    def measured(shuffle: int) -> dict[str, torch.Tensor]:
        torch.manual_seed(1)
        net = mlp.Mlp(4, 3, hidden=(8,), dropout=0.5)
        torch.manual_seed(shuffle)
        x = np.random.default_rng(0).normal(size=(1300, 4)).astype(np.float32)
        blends.measure_norms(net, source(x), torch.arange(1300), torch.Generator().manual_seed(0))
        return net.state_dict()

    first, second = measured(1), measured(2)
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_a_net_without_norms_is_left_alone():
    net = nn.Linear(4, 3)
    before = copy.deepcopy(net.state_dict())
    x = np.zeros((10, 4), dtype=np.float32)
    blends.measure_norms(net, source(x), torch.arange(10), torch.Generator())
    assert all(torch.equal(before[name], tensor) for name, tensor in net.state_dict().items())


def test_two_rows_are_enough():
    net = mlp.Mlp(4, 3, hidden=(8,))
    x = np.array([[1, 2, 3, 4], [2, 1, 0, 1]], dtype=np.float32)
    blends.measure_norms(net, source(x), torch.arange(2), torch.Generator())
    assert torch.isfinite(net(torch.from_numpy(x))).all()


def test_the_fused_layers_of_the_lenet_are_measured_too():
    torch.manual_seed(0)
    layer = fused.ConvNormPool(1, 2)
    x = np.random.default_rng(0).normal(5, 3, (600, 1, 8, 8)).astype(np.float32)
    blends.measure_norms(layer, source(x), torch.arange(600), torch.Generator().manual_seed(0))
    raw = layer.conv(torch.from_numpy(x))  # (600, 2, 8, 8)
    torch.testing.assert_close(layer.norm.running_mean, raw.mean((0, 2, 3)), atol=0.05, rtol=0.05)
    torch.testing.assert_close(layer.norm.running_var, raw.var((0, 2, 3)), atol=0.3, rtol=0.1)
