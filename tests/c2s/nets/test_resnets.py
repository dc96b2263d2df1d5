import json
from pathlib import Path

import pytest
import torch

from c2s import errors
from c2s.nets import preact, resnet50, shakeshake

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "resnet50_keys.json").read_text())


@pytest.fixture(scope="module")
def pretrained():
    return resnet50.ResNet50(3, 1000)


def test_resnet_50_has_torchvision_s_names_and_shapes(pretrained):
    state = pretrained.state_dict()
    assert len(GOLDEN["keys"]) == 320
    assert set(state) == set(GOLDEN["keys"])
    assert {name: list(state[name].shape) for name in GOLDEN["shapes"]} == GOLDEN["shapes"]


def test_resnet_50_has_the_published_number_of_parameters(pretrained):
    assert sum(parameter.numel() for parameter in pretrained.parameters()) == 25_557_032


def test_a_backbone_loads_beside_another_head(pretrained):
    net = resnet50.ResNet50(3, 7)
    head = net.fc.weight.clone()
    resnet50.load_backbone(net, pretrained.state_dict())
    assert torch.equal(net.fc.weight, head)
    assert torch.equal(net.conv1.weight, pretrained.conv1.weight)
    assert torch.equal(
        net.get_parameter("layer4.2.bn3.weight"), pretrained.get_parameter("layer4.2.bn3.weight")
    )


def test_a_backbone_from_before_the_batch_counters_loads(pretrained):
    old = {name: value for name, value in pretrained.state_dict().items() if "num_batches" not in name}
    net = resnet50.ResNet50(3, 7)
    resnet50.load_backbone(net, old)
    assert net.get_buffer("bn1.running_var").equal(old["bn1.running_var"])


def test_a_backbone_that_does_not_fit_is_refused_by_name(pretrained):
    net, whole = resnet50.ResNet50(3, 7), dict(pretrained.state_dict())
    before = net.conv1.weight.clone()
    lacking = {name: value for name, value in whole.items() if name != "layer2.1.conv3.weight"}
    with pytest.raises(errors.InvalidModel, match=r"lack layer2\.1\.conv3\.weight"):
        resnet50.load_backbone(net, lacking)
    grey = whole | {"conv1.weight": torch.zeros(64, 1, 7, 7)}
    with pytest.raises(
        errors.InvalidModel, match=r"conv1\.weight is \(64, 1, 7, 7\) instead of \(64, 3, 7, 7\)"
    ):
        resnet50.load_backbone(net, grey)
    deeper = whole | {"layer3.6.conv1.weight": torch.zeros(1)}
    with pytest.raises(errors.InvalidModel, match=r"another net's: they hold layer3\.6\.conv1\.weight"):
        resnet50.load_backbone(net, deeper)
    with pytest.raises(errors.InvalidModel, match=r"and 260 more"):
        resnet50.load_backbone(net, {})
    assert torch.equal(net.conv1.weight, before)


@pytest.mark.parametrize("net", [preact.PreActResNet56(3, 10), shakeshake.ShakeShake26(3, 10)])
def test_convolutions_start_he_normal_by_fan_out(net):
    kernel = max((p for p in net.parameters() if p.ndim == 4), key=torch.Tensor.numel)
    fan_out = kernel.shape[0] * kernel.shape[2] * kernel.shape[3]
    assert kernel.std().item() == pytest.approx((2 / fan_out) ** 0.5, rel=0.02)
    assert abs(kernel.mean().item()) < 0.01


def test_branches_are_mixed_evenly_in_evaluation():
    a, b = torch.randn(2, 5, 3, 4, 4)
    torch.testing.assert_close(shakeshake.mix(a, b, training=False), 0.5 * a + 0.5 * b)


def shaken(rows=64):
    """The coefficient that each image got, forward and backward."""
    a = torch.ones(rows, 2, 3, 3, requires_grad=True)
    b = torch.zeros(rows, 2, 3, 3, requires_grad=True)
    mixed = shakeshake.mix(a, b, training=True)
    mixed.sum().backward()
    torch.testing.assert_close(a.grad + b.grad, torch.ones_like(a))
    return mixed.detach(), a.grad


def test_every_image_is_shaken_by_a_draw_of_its_own():
    torch.manual_seed(0)
    for drawn in shaken():
        assert (drawn.flatten(1).std(1) == 0).all()  # one draw for the whole image
        assert len(drawn[:, 0, 0, 0].unique()) == 64
        assert 0 <= drawn.min() < 0.2
        assert 0.8 < drawn.max() <= 1


def test_backward_draws_know_nothing_of_forward_draws():
    torch.manual_seed(0)
    forward, backward = (drawn[:, 0, 0, 0] for drawn in shaken(4000))
    correlation = torch.corrcoef(torch.stack([forward, backward]))[0, 1]
    assert abs(correlation) < 0.05


def test_the_global_seed_repeats_the_shaking():
    net = shakeshake.ShakeShake26(3, 4, width=4)
    x = torch.randn(4, 3, 8, 8)
    answers = []
    for seed in (7, 7, 8):
        torch.manual_seed(seed)
        answers.append(net(x))
    assert torch.equal(answers[0], answers[1])
    assert not torch.equal(answers[0], answers[2])


def test_evaluation_draws_nothing():
    net = shakeshake.ShakeShake26(3, 4, width=4).eval()
    before = torch.get_rng_state()
    net(torch.randn(2, 3, 8, 8, generator=torch.Generator().manual_seed(0)))
    assert torch.equal(torch.get_rng_state(), before)


def test_the_second_half_of_a_shortcut_sees_one_pixel_further():
    shortcut = shakeshake.Shortcut(1, 2, stride=2)
    shortcut.norm = torch.nn.Identity()
    for conv in (shortcut.here, shortcut.beside):
        torch.nn.init.ones_(conv.weight)
    x = torch.arange(16.0).reshape(1, 1, 4, 4)
    here, beside = shortcut(x)[0]
    assert here.tolist() == [[0, 2], [8, 10]]
    assert beside.tolist() == [[5, 7], [13, 15]]
    odd = shortcut(x[:, :, :3, :3])[0]
    assert odd.tolist() == [[[0, 2], [8, 10]], [[5, 0], [0, 0]]]  # zeros come in from outside
