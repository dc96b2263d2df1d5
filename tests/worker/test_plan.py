import pytest
from workers import wanted

from worker import plan

MEMBERS = ("forward", "forward-elr", "f-class2simi", "reweight", "prune-elr")


def steps(chosen):
    return list(plan.Plan(chosen)._epochs)


def test_the_plan_holds_every_training_of_the_pipeline_in_order():
    assert steps(wanted(3)) == ["stage1", "stage2"]
    fitted = {"posteriors": "k-fold", "folds": 3, "estimator": "volmin"}
    folds = ["fold-1", "fold-2", "fold-3"]
    assert steps(wanted(3, transition=fitted)) == ["stage1", *folds, "joint", "stage2"]
    assert steps(wanted(3, method="revision")) == ["stage1", "stage2-reweight", "stage2"]
    assert steps(wanted(3, transition={"matrix": [[0.9, 0.1], [0.2, 0.8]]})) == ["stage1", "stage2"]


def test_the_search_of_s2e_is_part_of_the_plan():
    found = steps(wanted(3, method={"name": "s2e", "candidates": 2, "generations": 1}))
    trials = ["search-1-brief-1", "search-1-brief-2", "search-1-longer-1"]
    assert found == ["stage1", *trials, "stage2"]
    assert {plan.phase_of(step) for step in trials} == {"stage2"}


def test_all_that_auto_may_train_is_part_of_the_plan():
    found = steps(wanted(3, method="auto"))
    assert found[1:] == [f"stage2-{name}" for name in MEMBERS]
    assert {plan.phase_of(step) for step in found[1:]} == {"stage2"}


def test_two_nets_count_twice():
    told = plan.Plan(wanted(4, method="co-teaching"))
    assert told.training("stage1", 1.0) == pytest.approx(plan.TRAINING / 3)


def test_the_fraction_rises_from_nought_to_one_through_all_phases():
    chosen = wanted(4, transition={"posteriors": "k-fold", "folds": 2})
    told = plan.Plan(chosen)
    seen = [told.phase("loading"), told.phase("stage1")]
    for step in ("stage1", "fold-1", "fold-2", "stage2"):
        seen.append(told.phase(plan.phase_of(step)))
        seen += [told.training(step, epoch / 4) for epoch in range(5)]
    seen += [told.phase("evaluation"), told.phase("packaging")]
    assert seen == sorted(seen)
    assert seen[0] == 0
    assert seen[-1] < 1
    assert told.training("stage1", 0.5) == seen[-1]  # never back
    assert told.training("joint", 0.5) == seen[-1]  # an unplanned training changes nothing


def test_epochs_count_by_the_rows_they_see():
    told = plan.Plan(
        wanted(4, transition={"posteriors": "k-fold", "folds": 2})
    )  # 4 + 2 + 2 + 4 epochs of all rows
    assert told.training("stage1", 1.0) == pytest.approx(plan.TRAINING / 3)
    assert told.training("fold-2", 1.0) == pytest.approx(plan.TRAINING * 2 / 3)


def test_a_resumed_run_begins_where_its_states_are(tmp_path):
    for name in ("stage1/epoch-00003", "stage1/epoch-00004", "stage2/epoch-00001", "stage2/epoch-00002.part"):
        (tmp_path / name).mkdir(parents=True)
    told = plan.Plan(wanted(4))
    told.take_up(tmp_path)
    assert told.phase("loading") == pytest.approx(plan.TRAINING * 5 / 8)


def test_the_time_left_follows_the_pace_of_this_process(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(plan.time, "monotonic", lambda: now[0])
    clock = plan.Clock()
    assert clock.left(0.5) is None  # half was done by an earlier attempt
    now[0] += 10
    assert clock.left(0.6) == pytest.approx(40)
    assert clock.elapsed == 10
    assert clock.left(1.0) == 0
