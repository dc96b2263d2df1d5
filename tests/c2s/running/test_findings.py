"""Which T_c a run believes: the labels may refute what would have been taken."""

import dataclasses

import numpy as np
import pytest

from c2s import config, data, pipeline
from c2s.learning import training
from c2s.matrix import estimation, noise
from c2s.running import findings, result, rounds, workbench

FLIPS = noise.pair_flip(5, 0.3)
HASTY = {"epochs": 1, "batch_size": 64, "learning_rate": 0.005, "ema": None, "schedule": "constant"}
FOLDS = {"posteriors": "k-fold", "folds": 2}


@pytest.fixture(scope="module")
def clusters() -> data.Dataset:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 5, 600)
    x = (rng.normal(size=(5, 8)) * 3)[truth] + rng.normal(size=(600, 8))
    return data.from_arrays(x, noise.corrupt(truth, FLIPS, rng=rng))


def run(clusters, folder, **more) -> result.Result:
    raw = {"stage1": HASTY, "stage2": HASTY, "net": {"name": "mlp", "hidden": [32]}, "transition": FOLDS}
    return pipeline.run(clusters, config.TrainConfig.parse(raw | more), folder)


def test_a_count_that_the_labels_refute_gives_way_to_a_fit_that_knows_errors_of_stage_1(clusters, tmp_path):
    found = run(clusters, tmp_path)
    assert found.estimator == "refined"
    assert "the labels are too unlikely under" in found.card["transition"]["choice"]
    counted = estimation.error(found.alternatives["confident-joint"], FLIPS)
    assert estimation.error(found.T_c, FLIPS) < counted / 2


@pytest.mark.parametrize(
    "more",
    [
        {"transition": FOLDS | {"estimator": "confident-joint"}},  # a user's word
        {"transition": {"posteriors": "in-sample"}},  # rows that the net has seen do not judge
        {"method": "volmin"},  # learns it, from nothing
    ],
    ids=["asked", "in-sample", "volmin"],
)
def test_a_count_stays_where_it_was_asked_for_or_nobody_can_judge_it(clusters, tmp_path, more):
    told = run(clusters, tmp_path, **more).card["transition"]["choice"]
    assert "too unlikely" not in told


def test_gold_rows_chosen_by_class_tell_a_rate_that_lies_inside_its_interval(tmp_path):
    T, rng = np.array([[0.95, 0.05], [0.4, 0.6]]), np.random.default_rng(0)
    truth = (rng.random(1000) < 0.1).astype(np.int64)
    x = rng.normal(size=(1000, 4)) + 4 * truth[:, None]
    dataset = data.from_arrays(x, noise.corrupt(truth, T, rng=rng))
    gold = np.full(1000, -1)
    rows = np.concatenate([np.flatnonzero(truth == k)[:40] for k in (0, 1)])
    gold[rows] = truth[rows]
    asked = {"method": "forward", "transition": {"estimator": "gold", "posteriors": "in-sample"}}
    told = run(dataclasses.replace(dataset, gold=gold), tmp_path, **asked).card["transition"]
    ends = told["interval"]
    assert ends["noise_rate"]["class"][0] <= told["noise_rate"]["class"] <= ends["noise_rate"]["class"][1]
    for name, value in told["similarity"].items():
        assert ends["similarity"][name][0] <= value <= ends["similarity"][name][1]


@pytest.mark.parametrize("posteriors", ["in-sample", "validation"])
def test_gold_rows_that_were_chosen_for_doubt_have_no_say_in_what_all_rows_are_like(tmp_path, posteriors):
    rng = np.random.default_rng(0)
    truth = np.arange(800) % 2
    x = (rng.normal(size=(800, 2)) + np.where(truth, 2.0, -2.0)[:, None]).astype(np.float32)
    plain = data.from_arrays(x, noise.corrupt(truth, noise.symmetric(2, 0.1), rng=rng))
    gold = np.full(800, -1)
    border = np.abs(x.sum(axis=1)).argsort()[:130]
    gold[border] = truth[border]
    stage = {"epochs": 5, "batch_size": 32, "learning_rate": 0.02}
    raw = {"method": "forward", "stage1": stage, "net": {"name": "mlp", "hidden": []}}
    chosen = config.TrainConfig.parse(raw | {"transition": {"posteriors": posteriors}})
    marked = dataclasses.replace(plain, gold=gold)
    quiet = {"device": "cpu", "report": training.quiet, "probe": None}
    mine, theirs = (
        workbench.open_bench(dataset, chosen, tmp_path / name, **quiet)
        for name, dataset in (("marked", marked), ("plain", plain))
    )
    assert len(mine.holdout) > 2 * len(theirs.holdout)
    first = rounds.first_stage(theirs)  # the same net judges both, as its own rows would make another
    one, other = findings.study(mine, first), findings.study(theirs, first)
    assert one.choice == other.choice
    assert "counted" in one.choice
    assert one.rows == other.rows
    np.testing.assert_array_equal(one.evidence.T_c, other.evidence.T_c)
    np.testing.assert_array_equal(one.bounds.matrix, other.bounds.matrix)
