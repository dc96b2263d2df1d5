"""The trainings that are foretold are those that a run makes, batch for batch."""

import dataclasses
from collections import Counter

import numpy as np
import pytest
from workers import in_a_row, rows, wanted

from c2s import defaults, members, pipeline, trainings
from c2s.judging import testimony
from c2s.learning import step
from c2s.nets.twins import Twins

MEMBERS = ("forward", "forward-elr", "reweight", "prune-elr")
FOLDS = {"posteriors": "k-fold", "folds": 3}


def names(chosen, class_rows=(60, 60), **more):
    return [one.name for one in trainings.planned(chosen, class_rows, **more)]


@pytest.fixture
def counted(monkeypatch):
    """Batches that nets learnt from, by training."""
    taken, take = Counter(), step.take

    def counting(trainee, *given, phase, **more):
        taken[phase.name] += 2 if isinstance(trainee.net, Twins) else 1
        return take(trainee, *given, phase=phase, **more)

    monkeypatch.setattr(step, "take", counting)
    return taken


@pytest.mark.parametrize(
    "asked",
    [
        {"method": "forward"},
        {"method": "f-class2simi", "transition": FOLDS},
        {"method": "volmin"},
        {"method": "forward", "transition": {"estimator": "volmin", "epochs": 3, **FOLDS}},
        {"method": "revision"},
        {"method": {"name": "revision", "epochs": 3}},
        {"method": "co-teaching"},
        {"method": "jocor", "stage2": {"epochs": 1, "batch_size": 50}},
        {"method": {"name": "s2e", "candidates": 2, "generations": 2}},
        {"method": {"name": "s2e", "curve": [0.5] * 12}},
        {"method": "auto", "transition": FOLDS},
        {"method": "auto", "transition": {"estimator": "volmin", "posteriors": "in-sample"}},
    ],
)
def test_a_run_takes_the_steps_that_are_foretold(asked, counted, tmp_path):
    dataset = rows(132, 4)
    chosen = defaults.resolve(wanted(2, **asked), dataset.shape, len(dataset))
    class_rows = [int((dataset.y == k).sum()) for k in range(4)]
    foretold = {one.name: one.steps for one in trainings.planned(chosen, class_rows)}
    pipeline.run(dataset, chosen, tmp_path / "run")
    pruned = f"stage2-{members.PRUNED.name}"  # it leaves out rows that only stage 1 knows
    if pruned in foretold:
        assert 0 < counted.pop(pruned) <= foretold.pop(pruned)
    assert dict(counted) == foretold


def test_gold_rows_that_judge_are_no_rows_of_an_epoch(counted, tmp_path):
    dataset = rows(300, 4)
    dataset = dataclasses.replace(dataset, gold=np.where(np.arange(300) % 8 == 0, dataset.y, -1))
    chosen = defaults.resolve(wanted(2, method="forward", transition=FOLDS), dataset.shape, len(dataset))
    class_rows = np.bincount(dataset.y).tolist()
    spared = testimony.spared(dataset, chosen.validation, seed=chosen.seed)
    planned = trainings.planned(chosen, class_rows, spared=spared)
    assert planned[0].rows == trainings.planned(chosen, class_rows)[0].rows - spared < 250
    pipeline.run(dataset, chosen, tmp_path / "run")
    assert dict(counted) == {one.name: one.steps for one in planned}


def test_every_training_of_the_pipeline_is_planned_in_order():
    assert names(wanted(3)) == ["stage1", "stage2"]
    fitted = {"posteriors": "k-fold", "folds": 3, "estimator": "volmin"}
    folds = ["fold-1", "fold-2", "fold-3"]
    assert names(wanted(3, transition=fitted)) == ["stage1", *folds, "joint", "stage2"]
    assert names(wanted(3, method="revision")) == ["stage1", "stage2-reweight", "stage2"]
    assert names(wanted(3, transition={"matrix": [[0.9, 0.1], [0.2, 0.8]]})) == ["stage1", "stage2"]
    trials = ["search-1-brief-1", "search-1-brief-2", "search-1-longer-1"]
    searching = wanted(3, method={"name": "s2e", "candidates": 2, "generations": 1})
    assert names(searching) == ["stage1", *trials, "stage2"]


def test_auto_is_planned_with_the_members_that_its_rows_allow():
    chosen = wanted(3, method="auto")
    assert names(chosen)[1:] == [f"stage2-{name}" for name in MEMBERS]
    assert names(chosen, (3000, 3000))[1:] == [
        f"stage2-{name}" for name in ("forward", "forward-elr", "f-class2simi")
    ]


def test_a_matrix_that_may_have_to_be_learnt_is_planned_only_where_rows_are_enough():
    chosen = wanted(4)
    assert names(chosen, (60, 60), wavers=True) == ["stage1", "stage2"]
    assert names(chosen, (400, 400), wavers=True) == ["stage1", "joint", "stage2"]
    assert names(wanted(4, method="volmin"), (400, 400), wavers=True) == ["stage1", "stage2"]
    several = trainings.planned(wanted(4, method="auto"), (400, 400), wavers=True)
    assert {one.epochs for one in several if one.name.startswith("stage2")} == {3}  # they are shorter then


def test_rounds_of_stage_1_are_foretold_of_the_fold_that_tells_and_on_demand_of_all(counted, tmp_path):
    dataset = in_a_row(600)
    stage1 = {"epochs": 8, "batch_size": 64, "rounds": 3}
    asked = wanted(3, method="forward", stage1=stage1, transition=FOLDS, net="auto")
    chosen = defaults.resolve(asked, dataset.shape, len(dataset))
    class_rows = np.bincount(dataset.y).tolist()
    folds = ["fold-1", "fold-2", "fold-3"]
    rounds = [f"{name}-round-{number}" for name in (*folds, "stage1") for number in (2, 3)]
    assert names(chosen, class_rows) == ["stage1", *folds, *rounds[:2], "stage2"]
    assert names(chosen, class_rows, onward=True) == ["stage1", *folds, *rounds, "stage2"]
    pipeline.run(dataset, chosen, tmp_path / "run")
    assert dict(counted) == {
        one.name: one.steps for one in trainings.planned(chosen, class_rows, onward=True)
    }
