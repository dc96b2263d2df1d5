"""`method: auto` on clusters in the plane of the pipeline's tests: what it trains, what it weighs, what it says."""

import dataclasses

import numpy as np
import pytest

from c2s import auto, config, data, defaults, evaluation, members, noise, pipeline, shape, streams, training
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
    chosen = found.card["chosen"]
    assert set(chosen["agreement"]) == {"forward", "forward-elr", "reweight", "prune-elr"}
    assert sum(chosen["shares"].values()) == pytest.approx(1)
    assert chosen["method"] == max(chosen["shares"], key=chosen["shares"].get)
    assert found.kept == auto.PHASE
    assert any(note.startswith("auto blended the weights of forward") for note in found.notes)


def test_its_members_are_as_long_as_any_stage_2_and_remember_as_they_should(tmp_path):
    dataset, _, _ = clusters(noise.symmetric(C, 0.3), rows=300)
    history = pipeline.run(dataset, settings(), tmp_path / "run").history
    epochs = {entry["phase"]: entry["epoch"] + 1 for entry in history}
    assert epochs["stage1"] == 6
    assert epochs["stage2-forward"] == epochs["stage2-prune-elr"] == 6
    assert epochs[auto.PHASE] == 1
    losses = {entry["phase"]: entry["loss"] for entry in history if entry["epoch"] == 2 and "loss" in entry}
    assert losses["stage2-forward-elr"] != losses["stage2-forward"]


def test_folds_are_fewer_where_rows_are_not_few():
    def folds(rows: int) -> int:
        about = shape.Shape("vectors", width=8, classes=C)
        return defaults.resolve(config.TrainConfig.parse({"method": "auto"}), about, rows).transition.folds

    assert folds(defaults.AUTO_ROWS) == 5
    assert folds(defaults.AUTO_ROWS + 1) == 2


def test_the_blend_is_judged_like_every_training(tmp_path):
    dataset, x, truth = clusters(noise.symmetric(C, 0.3), rows=300)

    def probe(net):
        return {"test": evaluation.accuracy(net, x, truth)}

    found = pipeline.run(dataset, settings(), tmp_path / "run", probe=probe)
    last = found.history[-1]
    assert last["phase"] == auto.PHASE
    assert last["test"] == pytest.approx(evaluation.accuracy(found.net, x, truth), abs=0.01)
    assert 0 < last["accuracy"] < 1


def test_a_run_stopped_between_its_methods_ends_where_the_undisturbed_one_does(tmp_path):
    dataset, _, _ = clusters(noise.symmetric(C, 0.3), rows=300)

    def stop(progress: training.Progress) -> None:
        if progress.phase == "stage2-forward-elr" and progress.epoch == 2:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        pipeline.run(dataset, settings(), tmp_path / "cut", report=stop)
    resumed = pipeline.run(dataset, settings(), tmp_path / "cut")
    assert resumed.card["sha256"] == pipeline.run(dataset, settings(), tmp_path / "whole").card["sha256"]


def test_gold_rows_judge_where_there_are_enough(tmp_path):
    dataset, _, truth = clusters(noise.symmetric(C, 0.4), rows=600)
    gold = np.where(np.arange(600) % 6 == 0, truth, -1)
    found = pipeline.run(dataclasses.replace(dataset, gold=gold), settings(), tmp_path / "gold")
    assert found.card["chosen"]["judges"] == "gold"
    assert max(found.card["chosen"]["agreement"].values()) > 0.9  # with noisy labels it would be under 0.7
    few = np.where(np.arange(600) % 60 == 0, truth, -1)
    found = pipeline.run(dataclasses.replace(dataset, gold=few), settings(), tmp_path / "few")
    assert found.card["chosen"]["judges"] == "noisy"
    assert max(found.card["chosen"]["agreement"].values()) < 0.8


def names(shortlist: list[members.Member]) -> list[str]:
    return [member.name for member in shortlist]


def test_where_pairs_say_nothing_or_are_few_reweighting_takes_their_place():
    many = np.arange(auto.ROWS_FOR_PAIRS * C) % C
    clear, hidden = (dataclasses.replace(evidence(T), y=many) for T in (np.eye(C), noise.symmetric(C, 0.79)))
    assert "f-class2simi" in names(auto.shortlist(clear))
    assert names(auto.shortlist(hidden))[:3] == ["forward", "forward-elr", "reweight"]
    assert names(auto.shortlist(evidence(np.eye(C)))) == ["forward", "forward-elr", "reweight", "prune-elr"]


def test_pruning_is_for_few_rows():
    many = dataclasses.replace(evidence(np.eye(C)), y=np.zeros(auto.ROWS_TO_PRUNE, dtype=np.int64))
    assert names(auto.shortlist(many)) == ["forward", "forward-elr", "f-class2simi"]


def test_a_member_weighs_by_agreement_and_by_the_classes_it_kept():
    alike = auto._shares(np.array([0.5, 0.5]), np.array([0.02, 0.03]), judges=100)
    assert alike == pytest.approx([0.5, 0.5])  # so small a difference of shares is not seen
    behind = auto._shares(np.array([0.5, 0.4]), np.zeros(2), judges=100)  # two standard errors
    assert behind[1] / behind[0] == pytest.approx(np.exp(-2))
    merged = auto._shares(np.array([0.5, 0.5]), np.array([0.05, 0.05 + auto.LOST]), judges=100)
    assert merged[1] / merged[0] == pytest.approx(np.exp(-1))
    sure = auto._shares(np.array([1.0, 0.9]), np.zeros(2), judges=100)  # no error to measure in
    assert sure[0] > 0.99


def test_what_the_user_asks_of_stage_2_stands_for_every_member():
    asked = config.Stage(epochs=10, elr=config.EarlyLearning(weight=1), mixup=0.5)
    for member in members.EVERY:
        stage = member.stage(asked, advanced=False)
        assert (stage.elr, stage.mixup, stage.epochs) == (asked.elr, 0.5, 10)


def test_members_are_shorter_where_learning_t_was_a_training_before_them(tmp_path):
    dataset, _, _ = clusters(noise.symmetric(C, 0.3), rows=300)
    history = pipeline.run(dataset, settings(transition="volmin"), tmp_path / "run").history
    epochs = {entry["phase"]: entry["epoch"] + 1 for entry in history}
    assert (epochs["joint"], epochs["stage2-forward"]) == (6, 4)
