"""The loop on a linear net and a few hundred points: small enough to compare runs bit for bit."""

import dataclasses
import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from c2s import config, errors
from c2s.learning import batches, checkpoint, evaluation, schedule, step, training
from c2s.methods.ce import CrossEntropy
from c2s.methods.matrices import Fixed, Learnt
from c2s.methods.volmin import VolMin

GOLDEN = Path(__file__).parents[2] / "golden"
RNG = np.random.default_rng(0)
Y = RNG.integers(0, 3, 400)
X = (RNG.normal(size=(400, 5)) + 2 * np.eye(3, 5)[Y]).astype(np.float32)


def net(seed: int = 0) -> nn.Module:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(5, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8, 3))


def phase(**stage) -> training.Phase:
    settings = {"epochs": 4, "batch_size": 32, "learning_rate": 0.01} | stage
    return training.Phase(
        name="stage1",
        stage=config.Stage.parse(settings),
        method=CrossEntropy(),
        targets=Y,
        rows=np.arange(360),
        holdout=np.arange(360, 400),
        y=Y,
        seed=7,
    )


def fit(chosen: training.Phase, **more) -> training.Fitted:
    source = batches.Source(X, torch.device("cpu"))
    return training.fit(net(), source, chosen, T=Fixed(np.eye(3)), **more)


def weights(fitted: training.Fitted) -> dict[str, torch.Tensor]:
    return fitted.net.state_dict()


def assert_same_weights(one: training.Fitted, two: training.Fitted) -> None:
    for name, tensor in weights(one).items():
        assert torch.equal(tensor, weights(two)[name]), name


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
@pytest.mark.parametrize("ema", [None, 0.9])
def test_training_lowers_the_loss(optimizer, ema):
    fitted = fit(phase(epochs=6, optimizer=optimizer, ema=ema, learning_rate=0.02))
    losses = [entry["loss"] for entry in fitted.history]
    assert losses[-1] < 0.7 * losses[0]
    assert max(entry["accuracy"] for entry in fitted.history) > 0.7


def test_the_same_seed_gives_the_same_bits():
    assert_same_weights(fit(phase()), fit(phase()))


def test_training_leaves_the_global_generator_alone():
    torch.manual_seed(3)
    expected = torch.rand(3)
    torch.manual_seed(3)
    built = net(3)
    torch.manual_seed(3)
    training.fit(built, batches.Source(X, torch.device("cpu")), phase(), T=Fixed(np.eye(3)))
    assert torch.equal(torch.rand(3), expected)


class Stop(Exception):
    pass


@pytest.fixture
def every_epoch(monkeypatch):
    monkeypatch.setattr(training, "SAVE_SECONDS", 0.0)


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
@pytest.mark.parametrize("last", [1, 2, 3])
def test_a_run_stopped_after_any_epoch_resumes_bit_for_bit(tmp_path, every_epoch, optimizer, last):
    def stop(progress: training.Progress) -> None:
        if progress.epoch == last:
            raise Stop

    chosen = phase(optimizer=optimizer, schedule="cosine")
    keep = checkpoint.PhaseFolder(tmp_path / "stage1")
    with pytest.raises(Stop):
        fit(chosen, keep=keep, report=stop)
    resumed = fit(chosen, keep=keep)
    whole = fit(chosen)
    assert_same_weights(resumed, whole)
    assert [entry["loss"] for entry in resumed.history] == [entry["loss"] for entry in whole.history]


def test_a_finished_phase_is_not_trained_again(tmp_path):
    keep = checkpoint.PhaseFolder(tmp_path / "stage1")
    first = fit(phase(), keep=keep)
    seen = []
    again = fit(phase(), keep=keep, report=seen.append)
    assert seen == []
    assert_same_weights(first, again)


def test_channels_last_convolutions_resume_bit_for_bit(tmp_path, every_epoch):
    images = np.random.default_rng(1).normal(size=(64, 75)).astype(np.float32)
    y = np.arange(64) % 3

    def build() -> nn.Module:
        torch.manual_seed(0)
        head = [nn.Unflatten(1, (3, 5, 5)), nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(36, 3)]
        return nn.Sequential(*head).to(memory_format=torch.channels_last)

    source = batches.Source(images, torch.device("cpu"))
    chosen = training.Phase(
        "stage1",
        config.Stage(epochs=3, batch_size=16),
        CrossEntropy(),
        y,
        np.arange(48),
        np.arange(48, 64),
        y,
        seed=1,
    )
    keep = checkpoint.PhaseFolder(tmp_path / "s")

    def stop(progress: training.Progress) -> None:
        if progress.epoch == 2:
            raise Stop

    with pytest.raises(Stop):
        training.fit(build(), source, chosen, T=Fixed(np.eye(3)), keep=keep, report=stop)
    resumed = training.fit(build(), source, chosen, T=Fixed(np.eye(3)), keep=keep)
    assert_same_weights(resumed, training.fit(build(), source, chosen, T=Fixed(np.eye(3))))


def test_a_nan_names_the_phase_and_the_epoch():
    wild = phase(optimizer="sgd", ema=None)
    stage = wild.stage.model_copy(update={"learning_rate": 1e38})  # over what a config may ask for
    with pytest.raises(
        errors.Diverged, match=r"stage1 diverged in epoch 1: .* lower the learning_rate"
    ) as caught:
        fit(dataclasses.replace(wild, stage=stage))
    assert caught.value.epoch == 1


def test_a_row_held_out_that_leaves_the_numbers_is_no_metric():
    x = X.copy()
    x[390] = np.inf
    with pytest.raises(errors.Diverged, match=r"stage1 diverged in epoch 1"):
        training.fit(net(), batches.Source(x, torch.device("cpu")), phase(), T=Fixed(np.eye(3)))


def test_the_best_noisy_validation_is_kept_and_reported_once():
    fitted = fit(phase(epochs=8, keep="best"))
    assert sum(entry["kept"] for entry in fitted.history) == 1
    kept = next(entry for entry in fitted.history if entry["kept"])
    posterior = evaluation.posterior(fitted.net, batches.Source(X[360:], torch.device("cpu")))
    assert (posterior.argmax(1) == Y[360:]).mean() == kept["accuracy"]


def test_keeping_the_last_epoch_is_a_choice():
    fitted = fit(phase(epochs=3, keep="last"))
    assert [entry["kept"] for entry in fitted.history] == [False, False, True]


def test_patience_ends_a_stage_early():
    fitted = fit(phase(epochs=60, patience=2, learning_rate=0.05))
    kept = next(entry["epoch"] for entry in fitted.history if entry["kept"])
    assert len(fitted.history) == kept + 3 < 60


def test_patience_ends_a_stage_whose_last_weights_are_kept_where_it_ends_one_that_keeps_the_best(
    tmp_path, every_epoch
):
    def stop(progress: training.Progress) -> None:
        if progress.epoch == len(best.history) - 1:
            raise Stop

    settings = {"patience": 2, "learning_rate": 0.05}
    best, last = (fit(phase(epochs=60, keep=keep, **settings)) for keep in ("best", "last"))
    assert [entry["accuracy"] for entry in last.history] == [entry["accuracy"] for entry in best.history]
    assert [entry["kept"] for entry in last.history] == [False] * (len(best.history) - 1) + [True]
    assert not torch.equal(weights(last)["0.weight"], weights(best)["0.weight"])
    keep = checkpoint.PhaseFolder(tmp_path / "stage1")
    with pytest.raises(Stop):
        fit(phase(epochs=60, keep="last", **settings), keep=keep, report=stop)
    resumed = fit(phase(epochs=60, keep="last", **settings), keep=keep)
    assert_same_weights(resumed, last)


def test_reports_come_inside_a_long_epoch_and_may_stop_it(monkeypatch):
    monkeypatch.setattr(training, "TICK_SECONDS", -1.0)
    seen = []

    def stop(progress: training.Progress) -> None:
        seen.append(progress)
        if progress.epoch == 1 and progress.fraction > 0.5:
            raise Stop

    with pytest.raises(Stop):
        fit(phase(), report=stop)
    assert 0 < seen[0].fraction < 0.2
    assert any(progress.metrics for progress in seen)


def test_the_average_is_what_is_evaluated_and_kept():
    averaged, raw = fit(phase(epochs=1, ema=0.9)), fit(phase(epochs=1, ema=None))
    assert averaged.history[0]["loss"] == raw.history[0]["loss"]
    assert not torch.equal(weights(averaged)["0.weight"], weights(raw)["0.weight"])


def test_the_average_reaches_the_last_step_of_an_epoch(monkeypatch):
    decays = []
    monkeypatch.setattr(training.Trainee, "follow", lambda self, decay: decays.append(decay))
    chosen = phase(epochs=2, ema=0.5, batch_size=36)
    fit(chosen)
    assert chosen.steps % step.AVERAGE_STEPS  # else the test shows nothing
    exponents = np.round(np.log(decays[-math.ceil(chosen.steps / step.AVERAGE_STEPS) :]) / np.log(0.5))
    assert exponents.sum() == chosen.steps  # each step of the last epoch is in the average once


def test_gradient_clipping_bounds_the_step():
    before = net().state_dict()["0.weight"]
    stage = {
        "epochs": 1,
        "optimizer": "sgd",
        "momentum": 0.0,
        "weight_decay": 0.0,
        "ema": None,
        "batch_size": 360,
    }
    moved = fit(phase(**stage, schedule="constant", clip_norm=1e-4, learning_rate=1.0))
    assert (weights(moved)["0.weight"] - before).norm() <= 1.01e-4


def test_a_learnt_matrix_moves_and_stays_stochastic():
    chosen = training.Phase(
        "stage2",
        config.Stage(epochs=6, batch_size=32, learning_rate=0.01, keep="last"),
        VolMin(0.05, 1e-4),
        Y,
        np.arange(360),
        np.arange(360, 400),
        Y,
        seed=1,
    )
    T = Learnt(3, learning_rate=0.05)
    start = T.class_matrix().numpy()
    fitted = training.fit(net(), batches.Source(X, torch.device("cpu")), chosen, T=T)
    assert fitted.learnt
    assert np.abs(fitted.T_c - start).max() > 0.03
    np.testing.assert_allclose(fitted.T_c.sum(1), 1, atol=1e-6)


def test_the_probe_sees_every_epoch():
    fitted = fit(phase(epochs=3), probe=lambda evaluated: {"test": float(evaluated.training)})
    assert [entry["test"] for entry in fitted.history] == [0.0, 0.0, 0.0]


def test_the_authors_schedule_is_reproduced():
    golden = json.loads((GOLDEN / "schedules.json").read_text())["class2simi_mnist_stage2_lr_used_per_epoch"]
    stage = config.Stage.parse({"schedule": {"name": "step", "every": 5, "delay": 1}})
    ours = [schedule.rate_at(stage, step=10 * epoch + 3, steps=10, epochs=30) for epoch in range(30)]
    np.testing.assert_allclose(ours, golden, rtol=1e-9)


def test_cosine_falls_from_the_full_rate_to_zero():
    stage = config.Stage(learning_rate=0.5, schedule=config.Cosine())
    assert schedule.rate_at(stage, 0, 10, 4) == 0.5
    assert schedule.rate_at(stage, 20, 10, 4) == pytest.approx(0.25)
    assert schedule.rate_at(stage, 39, 10, 4) < 0.001


def test_a_stop_between_epochs_loses_none_of_them(tmp_path):
    def stop(progress: training.Progress) -> None:
        if progress.epoch == 2:
            raise Stop

    keep = checkpoint.PhaseFolder(tmp_path / "stage1")
    with pytest.raises(Stop):
        fit(phase(), keep=keep, report=stop)
    saved = keep.load()
    assert saved is not None
    assert len(saved[1]["history"]) == 2


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
@pytest.mark.parametrize("batch", [1, 6, 12, 13, 20])  # the twelfth is the last of its epoch
def test_a_run_stopped_at_any_batch_loses_none_and_resumes_bit_for_bit(
    tmp_path, monkeypatch, optimizer, batch
):
    chosen = phase(optimizer=optimizer, schedule="cosine", ema=0.9)
    keep, seen = checkpoint.PhaseFolder(tmp_path / "stage1"), []

    def stop(progress: training.Progress) -> None:
        seen.append(progress)
        if sum(not one.metrics for one in seen) == batch:
            raise Stop

    whole = fit(chosen)
    monkeypatch.setattr(training, "TICK_SECONDS", -1.0)
    with pytest.raises(Stop):
        fit(chosen, keep=keep, report=stop)
    stopped_at = seen[-1]
    seen.clear()
    resumed = fit(chosen, keep=keep, report=seen.append)
    assert (seen[0].epoch, seen[0].fraction) > (stopped_at.epoch, stopped_at.fraction)
    assert_same_weights(resumed, whole)
    assert [entry["loss"] for entry in resumed.history] == [entry["loss"] for entry in whole.history]


def test_augmented_images_resume_inside_an_epoch_bit_for_bit(tmp_path, monkeypatch):
    images = np.random.default_rng(1).integers(0, 256, (64, 6, 6), dtype=np.uint8)
    y = np.arange(64) % 3
    source = batches.Source(images, torch.device("cpu"))
    stage = config.Stage(epochs=2, batch_size=8, augment=config.Augment(shift=1, flip=True))
    chosen = training.Phase("s", stage, CrossEntropy(), y, np.arange(48), np.arange(48, 64), y, seed=1)

    class Pixels(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(0)
            self.layers = nn.Sequential(nn.Flatten(), nn.Dropout(0.2), nn.Linear(36, 3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.layers(x.float() / 255)

    def stop(progress: training.Progress) -> None:
        if progress.fraction > 0.4:
            raise Stop

    whole = training.fit(Pixels(), source, chosen, T=Fixed(np.eye(3)))
    monkeypatch.setattr(training, "TICK_SECONDS", -1.0)
    keep = checkpoint.PhaseFolder(tmp_path / "s")
    with pytest.raises(Stop):
        training.fit(Pixels(), source, chosen, T=Fixed(np.eye(3)), keep=keep, report=stop)
    assert_same_weights(training.fit(Pixels(), source, chosen, T=Fixed(np.eye(3)), keep=keep), whole)
