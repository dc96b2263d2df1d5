"""What composes with every method: mixup and early-learning regularisation, on the loop's own small points."""

import numpy as np
import pytest
import torch
from torch import nn

from c2s import config
from c2s.learning import batches, checkpoint, training
from c2s.learning.phase import Phase
from c2s.methods import choice
from c2s.methods.droprates import Gradual
from c2s.methods.matrices import Dropping, Fixed
from c2s.nets.twins import Twins

RNG = np.random.default_rng(0)
Y = RNG.integers(0, 3, 240)
X = (RNG.normal(size=(240, 5)) + 2 * np.eye(3, 5)[Y]).astype(np.float32)
OPTIONS = {"elr": {"weight": 1.0}, "mixup": 0.5}


def linear(seed: int) -> nn.Module:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 3))


def fit(method: str = "ce", keep=None, report=training.quiet, **stage) -> training.Fitted:
    settings = {"epochs": 3, "batch_size": 32, "learning_rate": 0.02} | stage
    built = choice.build(config.TrainConfig.parse({"method": method}).method)
    rows, held = np.arange(200), np.arange(200, 240)
    phase = Phase("stage2", config.Stage.parse(settings), built, Y, rows, held, Y, seed=3)
    two = method in ("co-teaching", "jocor")
    net = Twins(linear(0), linear(1)) if two else linear(0)
    T = Dropping(np.eye(3), Gradual(0.1)) if two else Fixed(np.eye(3))
    source = batches.Source(X, torch.device("cpu"))
    return training.fit(net, source, phase, T=T, keep=keep, report=report)


def weights(fitted: training.Fitted) -> torch.Tensor:
    return torch.cat([tensor.flatten() for tensor in fitted.net.state_dict().values()])


@pytest.mark.parametrize("method", ["ce", "forward", "f-class2simi", "co-teaching", "jocor", "apl"])
@pytest.mark.parametrize("options", [{"mixup": 0.5}, {"elr": {}}, OPTIONS], ids=["mixup", "elr", "both"])
def test_options_compose_with_every_kind_of_method(method, options):
    fitted = fit(method, **options)
    assert all(np.isfinite(entry["loss"]) for entry in fitted.history)
    assert not torch.equal(weights(fitted), weights(fit(method)))


@pytest.mark.parametrize("method", ["ce", "co-teaching"])
@pytest.mark.parametrize("batch", [3, 9])
def test_a_run_with_options_resumes_inside_an_epoch_bit_for_bit(tmp_path, monkeypatch, method, batch):
    whole = fit(method, **OPTIONS)
    monkeypatch.setattr(training, "TICK_SECONDS", -1.0)
    keep, seen = checkpoint.PhaseFolder(tmp_path / "stage2"), []

    def stop(progress: training.Progress) -> None:
        seen.append(progress)
        if len(seen) == batch:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        fit(method, keep=keep, report=stop, **OPTIONS)
    assert torch.equal(weights(fit(method, keep=keep, **OPTIONS)), weights(whole))


def test_a_memory_costs_nothing_without_regularisation():
    keep: dict[str, torch.Tensor] = {}

    class Kept(training.Forget):
        def save(self, tensors, facts):
            keep.update(tensors)

    fit(keep=Kept())
    assert "memory" not in keep
    fit(keep=Kept(), elr={})
    assert keep["memory"].shape == (1, 240, 3)


def test_two_nets_answer_together_in_training_and_the_first_alone_after_it():
    net, x = Twins(linear(0), linear(1)), torch.from_numpy(X[:4])
    assert net.train()(x).shape == (2, 4, 3)
    torch.testing.assert_close(net.eval()(x), net.first(x))


def test_images_are_mixed_as_numbers_from_0_to_1():
    x = torch.tensor([[[0, 255]], [[255, 0]]], dtype=torch.uint8)
    mixed = batches.mixed(x, x.flip(0), 0.75)
    torch.testing.assert_close(mixed, torch.tensor([[[0.25, 0.75]], [[0.75, 0.25]]]))


def test_texts_are_mixed_by_joining_their_bags():
    bag = (torch.tensor([4, 5, 6]), torch.tensor([0, 2]), torch.ones(3))
    other = (torch.tensor([6, 4, 5]), torch.tensor([0, 1]), torch.ones(3))
    indices, offsets, shares = batches.mixed(bag, other, 0.75)
    assert indices.tolist() == [4, 5, 6, 6, 4, 5]
    assert offsets.tolist() == [0, 3]
    assert shares.tolist() == [0.75, 0.75, 0.25, 0.75, 0.25, 0.25]
