"""bfloat16 on a processor: only where its units are there and a child that used them lived."""

import sys
from typing import NoReturn

import numpy as np
import pytest
import torch
from torch import nn

from c2s import config
from c2s.learning import batches, checkpoint, precision, training
from c2s.learning.phase import Phase
from c2s.methods.ce import CrossEntropy
from c2s.methods.matrices import Fixed
from c2s.nets import lenet

CPU, CUDA = torch.device("cpu"), torch.device("cuda")
RNG = np.random.default_rng(0)
Y = np.arange(200) % 4
X = (RNG.integers(0, 60, (200, 8, 8)) + 150 * (np.arange(8)[:, None] // 2 == Y[:, None, None])).astype(
    np.uint8
)


class Stop(Exception):
    pass


def unasked(*args: object) -> NoReturn:
    raise AssertionError("no child must be started")


@pytest.fixture
def processor(monkeypatch: pytest.MonkeyPatch):
    """Makes a processor with or without the units, whose child lives or dies."""

    def make(*units: str, lives: bool | None = None) -> None:
        monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: dict.fromkeys(units, True))
        monkeypatch.setattr(precision, "survived", unasked if lives is None else lambda command: lives)
        precision._processor_can.cache_clear()

    yield make
    precision._processor_can.cache_clear()


class Net(nn.Module):
    """The smallest that has what the units compute: a convolution and a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.lenet = lenet.LeNet((8, 8, 1), 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.lenet(x[:, None].float() / 255)
        return logits


def fit(wanted: str, **more) -> training.Fitted:
    stage = config.Stage.parse({"epochs": 3, "batch_size": 20, "precision": wanted})
    phase = Phase("stage1", stage, CrossEntropy(), Y, np.arange(180), np.arange(180, 200), Y, 7)
    torch.manual_seed(0)
    return training.fit(Net(), batches.Source(X, CPU), phase, T=Fixed(np.eye(4)), **more)


def same(one: training.Fitted, two: training.Fitted) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one.net.parameters(), two.net.parameters(), strict=True))


def test_float32_asks_nothing_of_the_device(processor):
    processor(*precision.UNITS)
    assert not precision.halves("float32", CPU)
    assert not precision.halves("float32", CUDA)


def test_a_processor_without_units_is_not_tried_and_computes_as_ever(processor):
    processor("avx512_f", "amx_int8")
    assert not precision.halves("bfloat16", CPU)
    assert same(fit("bfloat16"), fit("float32"))


@pytest.mark.parametrize("unit", precision.UNITS)
@pytest.mark.parametrize("lives", [True, False])
def test_units_are_used_where_a_child_that_used_them_lived(processor, unit, lives):
    processor(unit, lives=lives)
    assert precision.halves("bfloat16", CPU) is lives


def test_cuda_computes_in_bfloat16_untried(processor):
    processor(*precision.UNITS)
    assert precision.halves("bfloat16", CUDA)


@pytest.mark.parametrize(
    "program",
    [
        "import os, signal; os.kill(os.getpid(), signal.SIGILL)",
        "raise SystemExit(1)",
        "import time; time.sleep(60)",
    ],
)
def test_a_child_that_is_killed_fails_or_hangs_did_not_live(program, monkeypatch):
    monkeypatch.setattr(precision, "TRIAL_SECONDS", 2.0)
    assert not precision.survived([sys.executable, "-c", program])


def test_a_child_that_cannot_be_started_did_not_live(tmp_path):
    assert not precision.survived([str(tmp_path / "nothing")])
    assert precision.survived([sys.executable, "-c", ""])


def test_the_trial_is_a_step_that_every_processor_can_take():
    if any(torch.cpu.get_capabilities().get(unit) for unit in precision.UNITS):
        pytest.skip("the next test takes it, if this processor is as good as its word")
    assert precision.survived([sys.executable, "-P", precision.__file__])


def test_with_units_training_learns_the_same_and_resumes_bit_for_bit(tmp_path):
    if not precision.halves("bfloat16", CPU):
        pytest.skip("this processor has no units that work")

    def stop(progress: training.Progress) -> None:
        if progress.epoch == 2:
            raise Stop

    whole, exact = fit("bfloat16"), fit("float32")
    assert not same(whole, exact)
    assert all(parameter.dtype == torch.float32 for parameter in whole.net.parameters())
    assert whole.history[-1]["accuracy"] == exact.history[-1]["accuracy"] == 1
    keep = checkpoint.PhaseFolder(tmp_path / "stage1")
    with pytest.raises(Stop):
        fit("bfloat16", keep=keep, report=stop)
    assert same(fit("bfloat16", keep=keep), whole)
