"""`method: auto` on clusters in the plane of the pipeline's tests: what it tries, what it keeps, what it says."""

import dataclasses

import numpy as np
import pytest

from c2s import auto, config, data, evaluation, noise, pipeline, streams, training
from c2s.methods.method import Evidence

C = 5


def clusters(T: np.ndarray, rows: int = 900) -> tuple[data.Dataset, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, C, rows)
    x = np.random.default_rng(99).normal(size=(C, 8))[truth] * 3 + rng.normal(size=(rows, 8))
    given = noise.corrupt(truth, T, rng=streams.numpy(0, "flips"))
    return data.from_arrays(x, given), x.astype(np.float32), truth


def settings(**more) -> config.TrainConfig:
    stage = {"epochs": 6, "batch_size": 64, "learning_rate": 0.005, "ema": 0.98}
    raw = {"method": "auto", "stage1": stage, "stage2": stage, "net": {"name": "mlp", "hidden": [32]}}
    return config.TrainConfig.parse(raw | more)


def evidence(T_c: np.ndarray) -> Evidence:
    return Evidence(np.arange(40) % C, T_c, np.full(C, 1 / C), np.zeros(40, dtype=bool))


@pytest.mark.parametrize("T", [noise.symmetric(C, 0.4), noise.pair_flip(C, 0.25)], ids=["sym", "pair"])
def test_auto_learns_the_clean_classes_and_says_how(tmp_path, T):
    dataset, x, truth = clusters(T)
    found = pipeline.run(dataset, settings(), tmp_path / "run")
    assert evaluation.accuracy(found.net, x, truth) > 0.93
    assert set(found.card["chosen"]["agreement"]) == {"jocor", "prune", "forward", "f-class2simi"}
    assert found.kept == f"stage2-{found.card['chosen']['method']}"
    assert any(note.startswith("auto chose") for note in found.notes)


def test_two_nets_are_trained_for_fewer_epochs_and_fewer_folds_are_made(tmp_path):
    dataset, _, _ = clusters(noise.symmetric(C, 0.3), rows=300)
    history = pipeline.run(dataset, settings(), tmp_path / "run").history
    epochs = {entry["phase"]: entry["epoch"] + 1 for entry in history}
    assert epochs["stage2-jocor"] == 4
    assert epochs["stage2-forward"] == 6
    assert sum(name.startswith("fold") for name in epochs) == 2


def test_a_run_stopped_between_its_methods_ends_where_the_undisturbed_one_does(tmp_path):
    dataset, _, _ = clusters(noise.symmetric(C, 0.3), rows=300)

    def stop(progress: training.Progress) -> None:
        if progress.phase == "stage2-f-class2simi" and progress.epoch == 2:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        pipeline.run(dataset, settings(), tmp_path / "cut", report=stop)
    resumed = pipeline.run(dataset, settings(), tmp_path / "cut")
    assert resumed.card["sha256"] == pipeline.run(dataset, settings(), tmp_path / "whole").card["sha256"]


def names(shortlist: auto.Shortlist) -> list[str]:
    return [method.name for method in shortlist]


def test_where_pairs_say_nothing_they_are_not_tried():
    assert names(auto.shortlist(evidence(noise.symmetric(C, 0.79)))) == ["jocor", "prune", "forward"]


def test_two_nets_are_for_few_rows():
    few, many = evidence(np.eye(C)), evidence(np.eye(C))
    many = dataclasses.replace(many, y=np.zeros(auto.FEW_ROWS, dtype=np.int64))
    assert names(auto.shortlist(few)) == ["jocor", "prune", "forward", "f-class2simi"]
    assert names(auto.shortlist(many)) == ["forward", "f-class2simi", "apl"]
