import copy

import pytest
import torch
from torch import nn

from c2s.nets import fused, lenet


def stock(layer):
    return nn.Sequential(copy.deepcopy(layer.conv), copy.deepcopy(layer.norm), nn.ReLU(), nn.MaxPool2d(2))


def layer_with_mixed_signs(before=3, after=6):
    torch.manual_seed(5)
    layer = fused.ConvNormPool(before, after).double()
    with torch.no_grad():
        layer.norm.weight.copy_(torch.tensor([1.0, -0.7, 0.3, -2.0, 0.9, 1.5])[:after])
        layer.norm.bias.normal_()
        layer.norm.running_mean.normal_()
        layer.norm.running_var.uniform_(0.5, 2)
    return layer


@pytest.mark.parametrize("size", [(2, 2), (6, 6), (7, 9), (5, 4)])
def test_the_fused_layer_is_the_stock_layers_in_one(size):
    ours, x = layer_with_mixed_signs(), torch.randn(4, 3, *size, dtype=torch.float64) + 0.5
    theirs = stock(ours)
    mine, yours = x.clone().requires_grad_(), x.clone().requires_grad_()
    for _ in range(3):  # running statistics move on, and with them the shift that ours uses
        a, b = ours(mine), theirs(yours)
        torch.testing.assert_close(a, b)
        weight = torch.randn_like(a)
        (a * weight).sum().backward()
        (b * weight).sum().backward()
    torch.testing.assert_close(mine.grad, yours.grad)
    torch.testing.assert_close(ours.conv.weight.grad, theirs[0].weight.grad)
    torch.testing.assert_close(ours.norm.weight.grad, theirs[1].weight.grad)
    torch.testing.assert_close(ours.norm.bias.grad, theirs[1].bias.grad)
    for name, value in theirs[1].named_buffers():
        torch.testing.assert_close(ours.norm.get_buffer(name), value, msg=name)


@pytest.mark.parametrize("size", [(6, 6), (7, 9)])
def test_the_fused_layer_evaluates_as_the_stock_layers_do(size):
    ours = layer_with_mixed_signs().eval()
    x = torch.randn(4, 3, *size, dtype=torch.float64)
    torch.testing.assert_close(ours(x), stock(ours).eval()(x))


def test_a_frozen_norm_uses_and_keeps_its_statistics():
    ours = layer_with_mixed_signs()
    theirs = stock(ours)
    ours.norm.eval()
    theirs[1].eval()
    before = ours.norm.running_mean.clone()
    x = torch.randn(4, 3, 6, 6, dtype=torch.float64)
    torch.testing.assert_close(ours(x), theirs(x))
    assert torch.equal(ours.norm.running_mean, before)


def test_gradients_of_the_fused_operation_are_those_of_finite_differences():
    torch.manual_seed(1)
    x = torch.randn(2, 3, 5, 4, dtype=torch.float64, requires_grad=True)  # odd: a row outside every window
    gamma = torch.rand(3, dtype=torch.float64, requires_grad=True)
    beta = torch.randn(3, dtype=torch.float64, requires_grad=True)

    def pooled(x, gamma, beta):
        return fused.NormReluPool.apply(x, gamma, beta, torch.zeros_like(beta), 1e-5)[0]

    assert torch.autograd.gradcheck(pooled, (x, gamma, beta))


def test_a_gamma_of_zero_leaves_beta_and_a_finite_gradient():
    layer = layer_with_mixed_signs()
    with torch.no_grad():
        layer.norm.weight.zero_()
    out = layer(torch.randn(4, 3, 6, 6, dtype=torch.float64))
    torch.testing.assert_close(out, layer.norm.bias.relu()[:, None, None].expand_as(out))
    out.square().sum().backward()
    assert layer.norm.weight.grad.isfinite().all()
    assert layer.conv.weight.grad.abs().max() == 0


def test_the_bias_before_a_norm_gets_the_zero_it_deserves():
    layer = layer_with_mixed_signs()
    layer(torch.randn(4, 3, 6, 6, dtype=torch.float64)).square().sum().backward()
    assert layer.conv.bias.grad.tolist() == [0.0] * 6
    reference = stock(layer)
    reference(torch.randn(4, 3, 6, 6, dtype=torch.float64)).square().sum().backward()
    assert reference[0].bias.grad.abs().max() < 1e-12


def test_an_evaluation_after_training_counts_the_bias():
    ours = layer_with_mixed_signs()
    theirs = stock(ours)
    x = torch.randn(8, 3, 6, 6, dtype=torch.float64)
    with torch.no_grad():
        for layers in (ours, theirs):
            for _ in range(4):
                layers(x)
            layers.eval()
        ours.conv.bias += 0.3  # in evaluation it is a bias like any other
        theirs[0].bias += 0.3
    torch.testing.assert_close(ours(x), theirs(x))


def test_a_large_mean_costs_no_digits_once_the_running_mean_knows_it():
    torch.manual_seed(2)
    layer = fused.ConvNormPool(1, 4)
    with torch.no_grad():
        layer.conv.bias += 1e4  # in float32, one part in a thousand of what the map says
        layer.norm.running_mean += 1e4
    exact = stock(copy.deepcopy(layer).double())
    x = torch.randn(16, 1, 8, 8)
    torch.testing.assert_close(layer(x), exact(x.double()).float(), rtol=1e-5, atol=1e-5)


def test_half_precision_maps_are_normalised_in_float32():
    torch.manual_seed(3)
    x = torch.randn(8, 4, 6, 6).bfloat16().requires_grad_()
    gamma, beta = torch.ones(4, requires_grad=True), torch.zeros(4, requires_grad=True)
    pooled, mean, variance = fused.NormReluPool.apply(x, gamma, beta, torch.zeros(4), 1e-5)
    assert (pooled.dtype, mean.dtype, variance.dtype) == (torch.bfloat16, torch.float32, torch.float32)
    torch.testing.assert_close(mean, x.float().mean((0, 2, 3)))
    pooled.sum().backward()
    assert x.grad.dtype == torch.bfloat16
    assert gamma.grad.dtype == torch.float32


def test_a_graph_may_be_walked_twice():
    layer, x = layer_with_mixed_signs(), torch.randn(4, 3, 6, 6, dtype=torch.float64)
    loss = layer(x).square().sum()
    loss.backward(retain_graph=True)
    once = layer.conv.weight.grad.clone()
    loss.backward()
    torch.testing.assert_close(layer.conv.weight.grad, 2 * once)


def test_the_whole_net_trains_as_its_stock_twin_does():
    torch.manual_seed(4)
    ours = lenet.LeNet((8, 8, 1), 3).double()
    theirs = nn.Sequential(
        *stock(ours.first),
        *stock(ours.second),
        nn.Flatten(),
        *copy.deepcopy([ours.hidden, ours.norm, ours.head]),
    )
    order = torch.arange(50 * 4).view(50, 4).T.reshape(-1)  # ours reads (h, w, c), `Flatten` (c, h, w)
    with torch.no_grad():
        ours.hidden.weight.copy_(theirs[9].weight[:, order])
    x, y = torch.randn(12, 1, 8, 8, dtype=torch.float64), torch.arange(12) % 3
    for net in (ours, theirs):
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-3)
        for _ in range(5):
            optimizer.zero_grad()
            nn.functional.cross_entropy(net(x), y).backward()
            optimizer.step()
    torch.testing.assert_close(ours(x), theirs(x), rtol=1e-8, atol=1e-10)
    torch.testing.assert_close(ours.eval()(x), theirs.eval()(x), rtol=1e-8, atol=1e-10)
