"""`method: auto` on clusters in the plane of the pipeline's tests: what it trains, what it weighs, what it says."""

import dataclasses
import json

import numpy as np
import pytest

from c2s import config, data, defaults, members, pipeline, shape, streams
from c2s.judging import reviews
from c2s.learning import evaluation, training
from c2s.matrix import noise
from c2s.methods.method import Evidence
from c2s.running import auto, findings, stages, workbench

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
    assert resolved(defaults.AUTO_ROWS).folds == 5
    assert resolved(defaults.AUTO_ROWS + 1).folds == 2


@pytest.mark.parametrize("folds", [5, 10])
def test_as_many_folds_as_were_asked_for_are_made_of_any_number_of_rows(folds):
    asked = {"folds": folds}
    assert resolved(defaults.AUTO_ROWS + 1, transition=asked).folds == folds


def test_what_was_resolved_once_stays_as_it_is():
    chosen = {"estimator": "anchors"}
    once = resolved(defaults.AUTO_ROWS + 1, transition=chosen)
    assert once.folds == 2
    assert resolved(defaults.AUTO_ROWS + 1, transition=once.model_dump(mode="json")) == once


def resolved(rows: int, **more) -> config.Estimate:
    about = shape.Shape("vectors", width=8, classes=C)
    found = defaults.resolve(config.TrainConfig.parse({"method": "auto", **more}), about, rows).transition
    assert isinstance(found, config.Estimate)
    return found


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
    assert any(
        "Each gold row counts for the accuracy as a blend that the others choose" in note
        for note in found.notes
    )
    few = np.where(np.arange(600) % 60 == 0, truth, -1)
    found = pipeline.run(dataclasses.replace(dataset, gold=few), settings(), tmp_path / "few")
    assert found.card["chosen"]["judges"] == "noisy"
    assert max(found.card["chosen"]["agreement"].values()) < 0.8


def test_a_gold_row_that_helps_to_choose_does_not_tell_the_accuracy_of_its_own_choice(tmp_path, monkeypatch):
    dataset, _, truth = clusters(noise.symmetric(C, 0.4), rows=600)
    rng, members_of = np.random.default_rng(1), {}

    def guess(net, source, rows=None):  # members that know nothing: what they agree with gold in is chance
        numbers = np.arange(600) if rows is None else rows
        by = members_of.setdefault(id(net), np.eye(C)[rng.integers(C, size=600)])
        return by[numbers]

    def pick(nets, shares):  # the blend of a bet: the member that agreed most
        return nets[int(np.argmax(shares))]

    bench = workbench.open_bench(
        dataclasses.replace(dataset, gold=np.where(np.arange(600) % 6 == 0, truth, -1)),
        settings(),
        tmp_path / "run",
        device="cpu",
        report=training.quiet,
        probe=None,
    )
    monkeypatch.setattr(evaluation, "posterior", guess)
    monkeypatch.setattr(auto.blends, "blend", pick)
    monkeypatch.setattr(auto.blends, "measure_norms", lambda *_: None)
    known = Evidence(dataset.y, np.eye(C), np.full(C, 1 / C), np.zeros(600, dtype=bool))
    trained = {str(k): training.Fitted("x", bench.fresh_net(str(k)), np.eye(C), False, []) for k in range(40)}
    made, choice = auto.choose(
        bench, findings.Findings("given", known, {}, (), made_by(trained), "", 600), trained
    )
    gold = np.flatnonzero(bench.dataset.gold >= 0)
    assert choice.judges == "gold"
    assert max(choice.tried.values()) > 0.27  # the luckiest of forty
    assert np.array_equal(np.flatnonzero(made.blind >= 0), gold)
    assert (made.blind[gold] == truth[gold]).mean() < 0.25


def test_the_report_counts_such_rows_by_the_blends_that_others_chose(tmp_path, monkeypatch):
    dataset, _, truth = clusters(noise.symmetric(C, 0.4), rows=400)
    gold = np.where(np.arange(400) % 6 == 0, truth, -1)
    wrong = np.where(gold >= 0, (gold + 1) % C, -1)
    monkeypatch.setattr(auto, "_blind", lambda *_, **more: wrong)
    found = pipeline.run(dataclasses.replace(dataset, gold=gold), settings(), tmp_path / "run")
    told = json.loads((found.folder.with_name("result") / reviews.REPORT).read_text())["worth"]["gold"]
    assert (found.kept, told["value"], told["rows"]) == (auto.PHASE, 0, (gold >= 0).sum())


def made_by(trained: dict[str, training.Fitted]) -> training.Fitted:
    return next(iter(trained.values()))


def names(shortlist: list[members.Member]) -> list[str]:
    return [member.name for member in shortlist]


def test_where_pairs_say_nothing_or_are_few_reweighting_takes_their_place():
    many = np.arange(members.ROWS_FOR_PAIRS * C) % C
    clear, hidden = (dataclasses.replace(evidence(T), y=many) for T in (np.eye(C), noise.symmetric(C, 0.79)))
    assert "f-class2simi" in names(auto.shortlist(clear))
    assert names(auto.shortlist(hidden))[:3] == ["forward", "forward-elr", "reweight"]
    assert names(auto.shortlist(evidence(np.eye(C)))) == ["forward", "forward-elr", "reweight", "prune-elr"]


def test_pruning_is_for_few_rows():
    many = dataclasses.replace(evidence(np.eye(C)), y=np.zeros(members.ROWS_TO_PRUNE, dtype=np.int64))
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
    for member in (*members.shortlist(9_000, 4), members.WEIGHTED, members.PRUNED):
        stage = member.stage(asked, advanced=False)
        assert (stage.elr, stage.mixup, stage.epochs) == (asked.elr, 0.5, 10)


def test_members_are_shorter_where_learning_t_was_a_training_before_them(tmp_path):
    dataset, _, _ = clusters(noise.symmetric(C, 0.3), rows=300)
    history = pipeline.run(dataset, settings(transition="volmin"), tmp_path / "run").history
    epochs = {entry["phase"]: entry["epoch"] + 1 for entry in history}
    assert (epochs["joint"], epochs["stage2-forward"]) == (6, 4)


def test_a_member_that_would_have_no_rows_left_learns_from_all(tmp_path):
    dataset, _, _ = clusters(noise.symmetric(C, 0.4), rows=60)
    quick = {"epochs": 1, "batch_size": 16}
    quiet = {"device": "cpu", "report": training.quiet, "probe": None}
    bench = workbench.open_bench(dataset, settings(stage1=quick, stage2=quick), tmp_path / "run", **quiet)
    suspects = np.isin(np.arange(60), bench.train)  # pruning would leave nothing
    known = Evidence(dataset.y, noise.symmetric(C, 0.4), np.full(C, 1 / C), suspects)
    start = training.Fitted("stage1", bench.fresh_net(), np.eye(C), False, [])
    _, choice = stages.second(bench, findings.Findings("given", known, {}, (), start, "", 60))
    assert set(choice.shares) == {"forward", "forward-elr", "reweight", "prune-elr"}
