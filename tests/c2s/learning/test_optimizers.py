"""The optimisers against the classes of torch.optim that they stand for, bit for bit."""

import subprocess
import sys

import pytest
import torch
from torch import nn

from c2s.learning import optimizers

PAIRS = {
    "adam": (
        lambda found: optimizers.Adam(found, rate=0.02, decay=1e-3, fused=True),
        lambda found: torch.optim.Adam(found, lr=0.02, weight_decay=1e-3, fused=True),
    ),
    "adam, a kernel a parameter": (
        lambda found: optimizers.Adam(found, rate=0.02),
        lambda found: torch.optim.Adam(found, lr=0.02),
    ),
    "sgd": (
        lambda found: optimizers.SGD(found, rate=0.02, momentum=0.9, decay=1e-3),
        lambda found: torch.optim.SGD(found, lr=0.02, momentum=0.9, weight_decay=1e-3, fused=True),
    ),
    "sgd without momentum": (
        lambda found: optimizers.SGD(found, rate=0.02, momentum=0.0, decay=0.0),
        lambda found: torch.optim.SGD(found, lr=0.02, fused=True),
    ),
}
TRAINING = """
import sys, tempfile
from pathlib import Path
import numpy as np
from c2s import config, data, pipeline
rng = np.random.default_rng(0)
y = np.arange(90) % 3
rows = data.from_arrays(rng.normal(size=(90, 4)).astype(np.float32) + 3 * y[:, None], y)
quick = {"epochs": 1, "batch_size": 32}
asked = {"stage1": quick, "stage2": quick, "transition": {"estimator": "volmin", "posteriors": "in-sample"}}
with tempfile.TemporaryDirectory() as home:
    pipeline.run(rows, config.TrainConfig.parse(asked), Path(home) / "run")
print("torch" in sys.modules, "torch._dynamo" in sys.modules)
"""


def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(2, 4, 3), nn.Flatten(), nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 3))


def steps(model, optimizer, numbers):
    """Train; the last layer is left out of the first step."""
    for number in numbers:
        x = torch.randn(5, 2, 4, 4, generator=torch.Generator().manual_seed(number))
        for parameter in model.parameters():
            parameter.grad = None
        model(x).square().sum().backward()
        if number == 0 and not isinstance(optimizer, optimizers.SGD | torch.optim.SGD):
            model[-1].weight.grad = None
        optimizer.step()


def weights(model):
    return [parameter.detach().clone() for parameter in model.parameters()]


@pytest.mark.parametrize(("ours", "theirs"), PAIRS.values(), ids=PAIRS)
def test_steps_are_those_of_torch_bit_for_bit(ours, theirs):
    mine, other = net(), net()
    steps(mine, ours(mine.parameters()), range(6))
    steps(other, theirs(other.parameters()), range(6))
    assert all(map(torch.equal, weights(mine), weights(other)))
    assert not any(map(torch.equal, weights(mine), weights(net())))


@pytest.mark.parametrize(("ours", "theirs"), PAIRS.values(), ids=PAIRS)
def test_what_is_remembered_has_the_names_of_torch_and_goes_on_from_there(ours, theirs):
    mine, other = net(), net()
    steps(mine, ours(mine.parameters()), range(6))
    before = theirs(other.parameters())
    steps(other, before, range(3))
    kept = before.state_dict()["state"]
    heir = ours(other.parameters())
    heir.restore({f"{place}.{slot}": one for place, slots in kept.items() for slot, one in slots.items()})
    assert {place: list(slots) for place, slots in heir.slots.items()} == {
        place: list(slots) for place, slots in kept.items()
    }
    steps(other, heir, range(3, 6))
    assert all(map(torch.equal, weights(mine), weights(other)))


def test_a_training_does_not_load_the_compiler():
    done = subprocess.run([sys.executable, "-c", TRAINING], capture_output=True, text=True, check=True)
    assert done.stdout == "True False\n"
