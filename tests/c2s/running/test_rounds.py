"""Stage 1 takes the fewest rounds that predict as many labels of unseen rows as the best number of them does."""

import numpy as np
import pytest
from workers import in_a_row

from c2s import config, data, pipeline
from c2s.learning import evaluation
from c2s.running import rounds, workbench

QUICK = {"transition": {"posteriors": "k-fold", "folds": 3}}
BRIEF = {"epochs": 8, "batch_size": 64}


def opened(dataset, folder, report=lambda progress: None, **more):
    chosen = config.TrainConfig.parse(QUICK | more)
    return workbench.open_bench(dataset, chosen, folder, device="cpu", report=report, probe=None)


def phases(bench):
    return list(dict.fromkeys(entry["phase"] for entry in bench.history))


def test_a_stage_1_that_does_not_know_the_classes_yet_goes_on(tmp_path):
    dataset = in_a_row(600)
    brief, bench = (
        opened(dataset, tmp_path / str(asked), stage1=BRIEF | {"rounds": asked}) for asked in (1, 4)
    )
    before, after = rounds.first_stage(brief), rounds.first_stage(bench)
    assert phases(brief) == ["stage1", "fold-1", "fold-2", "fold-3"]
    folds = ("fold-1", "fold-2", "fold-3")
    assert phases(bench)[4:13] == [f"{name}-round-{number}" for name in folds for number in (2, 3, 4)]
    assert phases(bench)[13] == "stage1-round-2"
    assert after.stage1.phase == "stage1"  # whatever round it ended with
    truth = np.arange(600) % 4
    poor, good = (float((one.posterior.argmax(1) == truth).mean()) for one in (before, after))
    assert good > poor + 0.2


def test_each_round_is_as_long_as_all_before_it(tmp_path):
    bench = opened(in_a_row(600), tmp_path, stage1=BRIEF | {"rounds": 3})
    rounds.first_stage(bench)
    lengths = {name: sum(entry["phase"] == name for entry in bench.history) for name in phases(bench)}
    assert lengths["stage1"] == lengths["stage1-round-2"] == 8
    assert lengths["stage1-round-3"] == 16


def test_a_round_that_is_not_worth_it_leaves_everything_as_it_was(tmp_path):
    rng = np.random.default_rng(0)
    noise = data.from_arrays(rng.normal(size=(400, 6)), rng.integers(0, 3, 400))  # nothing can be learnt
    stage = {"epochs": 40, "learning_rate": 0.01}
    once, bench = (opened(noise, tmp_path / str(asked), stage1=stage | {"rounds": asked}) for asked in (1, 4))
    before, after = rounds.first_stage(once), rounds.first_stage(bench)
    looked_at = [f"fold-{fold}-round-{number}" for fold in (1, 2) for number in (2, 3, 4)]
    assert phases(bench)[4:] == looked_at  # the last fold is spared
    np.testing.assert_array_equal(before.posterior, after.posterior)
    for one, other in zip(before.stage1.net.parameters(), after.stage1.net.parameters(), strict=True):
        np.testing.assert_array_equal(one.detach(), other.detach())


def test_a_round_that_gains_nothing_does_not_hide_what_the_next_one_gains(tmp_path):
    """200 rows, three labels in ten drawn anew: the second round loses labels, the fourth has parted the classes."""
    rng, truth = np.random.default_rng(2), np.arange(200) % 4
    x = rng.normal(size=(200, 4)) + 4 * truth[:, None]
    y = np.where(rng.random(200) < 0.4, rng.integers(0, 4, 200), truth)
    fresh = rng.normal(size=(2000, 4)) + 4 * (np.arange(2000) % 4)[:, None]
    dataset = data.from_arrays(x.astype(np.float32), y)
    found = pipeline.run(dataset, config.TrainConfig.parse({"method": "forward", "seed": 2}), tmp_path)
    assert "stage1-round-2" in {entry["phase"] for entry in found.history}
    assert evaluation.accuracy(found.net, fresh.astype(np.float32), np.arange(2000) % 4) > 0.85  # .54 without


def met(*shares, count=400):
    """Which of so many labels each round predicts: the first ones, by its share."""
    return (np.arange(count)[:, None] < count * np.array(shares)).astype(float)


@pytest.mark.parametrize(
    ("shares", "worth"),
    [
        ((0.5,), 1),
        ((0.5, 0.4, 0.3), 1),
        ((0.5, 0.502, 0.504), 1),  # chance
        ((0.5, 0.6, 0.602), 2),
        ((0.5, 0.502, 0.6), 3),  # a plateau between
        ((0.5, 0.45, 0.6), 3),
        ((0.5, 0.55, 0.6, 0.55), 3),
    ],
)
def test_the_fewest_rounds_are_taken_that_no_other_number_is_clearly_better_than(shares, worth):
    assert rounds.fewest(met(*shares)) == worth


def test_without_rows_to_judge_by_there_is_one_round():
    assert rounds.fewest(np.zeros((0, 4))) == 1


def test_few_rows_of_a_fold_do_not_end_the_search(tmp_path, monkeypatch):
    """36 rows that gain nothing are chance: the next fold is asked as well."""
    monkeypatch.setattr(rounds, "_agrees", lambda bench, fold, posterior: np.ones(len(fold.unseen)))
    few = opened(in_a_row(120), tmp_path / "few", stage1=BRIEF | {"rounds": 2})
    many = opened(in_a_row(600), tmp_path / "many", stage1=BRIEF | {"rounds": 2})
    for bench, asked in ((few, 3), (many, 1)):
        rounds.first_stage(bench)
        assert phases(bench)[4:] == [f"fold-{number + 1}-round-2" for number in range(asked)]


def test_pairs_learn_classes_that_a_short_stage_1_would_have_joined(tmp_path):
    dataset, fresh = in_a_row(600, seed=1), in_a_row(2000, seed=2)
    found = pipeline.run(dataset, config.TrainConfig.parse(QUICK | {"seed": 1}), tmp_path)
    assert evaluation.accuracy(found.net, fresh.x, np.arange(2000) % 4) > 0.97  # .51 without


class Cut(Exception):
    pass


def test_a_run_that_is_cut_in_a_round_ends_as_one_that_was_not(tmp_path):
    def cut(progress):
        if progress.phase == "stage1-round-2":
            raise Cut

    asked = {"stage1": BRIEF | {"rounds": 2}}
    whole = rounds.first_stage(opened(in_a_row(600), tmp_path / "whole", **asked))
    with pytest.raises(Cut):
        rounds.first_stage(opened(in_a_row(600), tmp_path / "cut", cut, **asked))
    resumed = rounds.first_stage(opened(in_a_row(600), tmp_path / "cut", **asked))
    np.testing.assert_array_equal(whole.posterior, resumed.posterior)
    for one, other in zip(whole.stage1.net.parameters(), resumed.stage1.net.parameters(), strict=True):
        np.testing.assert_array_equal(one.detach(), other.detach())


def test_a_later_attempt_reads_what_stage_1_thinks_instead_of_asking_it_again(tmp_path, monkeypatch):
    asked = {"stage1": BRIEF, "transition": {"posteriors": "in-sample"}}
    before = rounds.first_stage(opened(in_a_row(600), tmp_path, **asked))
    swept = []
    monkeypatch.setattr(evaluation, "posterior", lambda net, source, rows=None: swept.append(rows))
    after = rounds.first_stage(opened(in_a_row(600), tmp_path, **asked))
    assert swept == []
    np.testing.assert_array_equal(before.posterior, after.posterior)


def test_stage_2_starts_from_the_last_round(tmp_path):
    """What the pipeline publishes of stage 1 is the model that went on."""
    dataset = in_a_row(600)
    chosen = config.TrainConfig.parse(
        QUICK | {"stage1": BRIEF | {"rounds": 2}, "stage2": {"epochs": 1, "learning_rate": 1e-9}}
    )
    long = pipeline.run(dataset, chosen, tmp_path / "long")
    once = chosen.model_copy(update={"stage1": chosen.stage1.model_copy(update={"rounds": 1})})
    short = pipeline.run(dataset, once, tmp_path / "short")
    truth = np.arange(600) % 4
    good, poor = (evaluation.accuracy(one.net, dataset.x, truth) for one in (long, short))
    assert good > poor + 0.1
