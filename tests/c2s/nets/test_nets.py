import copy
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch import nn

from c2s import config, data, defaults, errors
from c2s.nets import choice, inputs
from c2s.shape import Shape


def images(height=28, width=28, channels=1, classes=10):
    return Shape(kind="image", classes=classes, image=(height, width, channels))


def pixels(*shape):
    return torch.randint(0, 256, shape, dtype=torch.uint8)


VECTORS = Shape(kind="vectors", classes=3, width=6)
TEXT = Shape(kind="text", classes=3, width=20)
SMALL = {
    "lenet": (config.LeNet(), images(8, 8, 1, classes=3)),
    "lenet-5": (config.LeNet5(), images(8, 8, 1, classes=3)),
    "shake-shake-26": (config.ShakeShake26(width=4), images(8, 8, 3, classes=3)),
    "resnet-56": (config.ResNet56(), images(8, 8, 3, classes=3)),
    "resnet-50": (config.ResNet50(), images(16, 16, 3, classes=3)),
    "mlp": (config.Mlp(hidden=(16, 8)), VECTORS),
    "text": (config.TextNet(embedding=8, hidden=(16,)), TEXT),
}


DEEP = {"shake-shake-26", "resnet-56", "resnet-50"}


def batch(shape, rows=12):
    """Rows of which the class can be seen."""
    y = torch.arange(rows) % shape.classes
    if shape.image is not None:
        noise = torch.randint(0, 40, (rows, *shape.image))
        return (noise + 80 * y[:, None, None, None]).to(torch.uint8), y
    if shape.kind == "text":
        offsets = torch.arange(rows) * 2
        return (
            torch.stack([y, torch.randint(3, 20, (rows,))], 1).flatten(),
            offsets,
            torch.ones(2 * rows),
        ), y
    return torch.randn(rows, shape.width) + y[:, None], y


@pytest.mark.parametrize(
    ("chosen", "shape", "authors"),
    [
        (config.LeNet(), images(), 1_257_224),
        (config.LeNet5(), images(), 61_710),
        (config.ShakeShake26(), images(32, 32, 3), 2_923_166),
    ],
)
def test_nets_have_the_authors_parameters_less_a_dead_matrix(chosen, shape, authors):
    dead = 4  # their nets carry a trainable 2x2 matrix that nothing reads
    assert choice.parameters(choice.build(chosen, shape)) == authors - dead


def test_resnet_56_has_the_published_0_86_million_parameters():
    assert choice.parameters(choice.build(config.ResNet56(), images(32, 32, 3))) == 855_578


@pytest.mark.parametrize("name", ["lenet", "lenet-5", "shake-shake-26", "resnet-56"])
@pytest.mark.parametrize("size", [(4, 4), (7, 11), (12, 8), (33, 32)])
@pytest.mark.parametrize("channels", [1, 3])
def test_image_nets_take_any_size_and_any_channels(name, size, channels):
    chosen = SMALL[name][0]
    net = choice.build(chosen, images(*size, channels, classes=5))
    x = pixels(2, *size, channels)
    assert net(x).shape == (2, 5)
    assert net.eval()(x).shape == (2, 5)
    if channels == 1:
        torch.testing.assert_close(net(x[..., 0]), net(x))


@pytest.mark.parametrize("name", SMALL)
def test_every_net_learns_what_can_be_learnt(name):
    torch.manual_seed(0)
    chosen, shape = SMALL[name]
    net, (x, y) = choice.build(chosen, shape), batch(shape)
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3, fused=True)
    losses = []
    for _ in range(8 if name in DEEP else 25):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.7 * losses[0]
    assert all(parameter.grad is not None for parameter in net.parameters())  # as several devices require


@pytest.mark.parametrize("name", SMALL)
def test_the_seed_decides_the_weights(name):
    chosen, shape = SMALL[name]
    first, second, third = (_weights(chosen, shape, seed) for seed in (1, 1, 2))
    assert all(torch.equal(first[key], second[key]) for key in first)
    assert any(not torch.equal(first[key], third[key]) for key in first)


def _weights(chosen, shape, seed):
    torch.manual_seed(seed)
    return choice.build(chosen, shape).state_dict()


@pytest.mark.parametrize("name", ["lenet", "lenet-5", "shake-shake-26", "resnet-56", "resnet-50"])
@pytest.mark.parametrize("training", [False, True])
def test_the_memory_layout_does_not_change_the_answer(name, training):
    chosen, shape = SMALL[name]
    last = choice.build(chosen, shape).double().train(training)
    first = copy.deepcopy(last).to(memory_format=torch.contiguous_format)
    x = pixels(4, *shape.image)
    answers = []
    for net in (last, first):
        torch.manual_seed(0)
        answers.append(net(x))
    assert last.body.state_dict()[_a_kernel(last.body)].is_contiguous(memory_format=torch.channels_last)
    torch.testing.assert_close(*answers)


def _a_kernel(body):
    return next(name for name, value in body.named_parameters() if value.ndim == 4 and value.shape[1] > 1)


@pytest.mark.parametrize("name", SMALL)
def test_a_net_refuses_data_it_cannot_read(name):
    chosen, fitting = SMALL[name]
    for shape in (images(8, 8), VECTORS, TEXT, Shape(kind="tabular", classes=3, width=6)):
        if {shape.kind, fitting.kind} <= {"vectors", "tabular"} or shape.kind == fitting.kind:
            continue
        with pytest.raises(
            errors.InvalidConfig, match=f"net {name} reads .* the dataset holds {shape.kind} rows"
        ):
            choice.build(chosen, shape)


def test_an_unresolved_net_is_refused():
    with pytest.raises(errors.InvalidConfig, match="auto"):
        choice.build(config.AutoNet(), images())


@pytest.mark.parametrize("chosen", [config.LeNet(), config.LeNet5()])
def test_images_too_small_to_pool_are_refused(chosen):
    with pytest.raises(errors.InvalidConfig, match="4x4 or more, not 3x28"):
        choice.build(chosen, images(3, 28))


def test_a_shake_shake_net_too_narrow_to_halve_is_refused():
    with pytest.raises(errors.InvalidConfig, match="width of at least 2"):
        choice.build(config.ShakeShake26(width=1), images(8, 8, 3))


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        (images(28, 28, 1), config.LeNet()),
        (images(32, 32, 1), config.LeNet()),
        (images(33, 28, 1), config.ResNet56()),
        (images(2, 28, 1), config.ResNet56()),
        (images(32, 32, 3), config.ResNet56()),
        (images(64, 64, 3), config.ResNet56()),
        (images(65, 64, 3), config.ResNet50()),
        (images(224, 224, 1), config.ResNet50()),
        (VECTORS, config.Mlp()),
        (Shape(kind="tabular", classes=2, width=9), config.Mlp()),
        (TEXT, config.TextNet()),
    ],
)
def test_auto_chooses_by_the_shape_of_the_data(shape, expected):
    assert defaults.net_for(shape, rows=10_000) == expected


def test_of_few_rows_with_many_features_half_the_units_are_dropped():
    wide = Shape(kind="vectors", classes=2, width=100)
    assert defaults.net_for(wide, rows=400) == config.Mlp()
    assert defaults.net_for(wide, rows=399) == config.Mlp(dropout=0.5)


def test_shapes_and_the_automatic_choice_load_without_torch():
    code = "import sys, c2s.shape; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_shape_survives_json():
    shape = images(5, 6, 3)
    plain = shape.plain() | {"image": list(shape.image)}
    assert Shape(**plain) == shape
    assert Shape(**TEXT.plain()) == TEXT


@pytest.mark.parametrize("wrong", [{"kind": "image"}, {"kind": "text"}, {"kind": "vectors", "width": 0}])
def test_a_shape_says_what_it_lacks(wrong):
    with pytest.raises(errors.InvalidDataset, match=f"{wrong['kind']} data needs"):
        Shape(classes=2, **wrong)


def test_a_net_is_built_for_a_dataset_from_its_training_rows():
    rng = np.random.default_rng(0)
    x = rng.normal(3, 2, (50, 4)).astype(np.float32)
    dataset = data.from_arrays(x, np.arange(50) % 2)
    rows = np.arange(10, 40)
    net = choice.build_for(config.Mlp(), dataset, rows)
    np.testing.assert_allclose(net.inputs.mean.numpy(), x[rows].mean(0), rtol=1e-5)
    np.testing.assert_allclose(net.inputs.std.numpy(), x[rows].std(0), rtol=1e-5)
    assert isinstance(net.inputs, inputs.Scale)
