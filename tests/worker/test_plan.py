import pytest
from workers import wanted

from c2s import trainings
from worker import plan

ROWS = [56, 56]  # of each class, ten of them held out: 102 are left, or 51 to each of two folds


def told_of(chosen, class_rows=ROWS, **more):
    return plan.Plan(trainings.planned(chosen, class_rows, **more))


def test_two_nets_count_twice():
    told = told_of(wanted(4, method="co-teaching"))
    assert told.training("stage1", 1.0) == pytest.approx(plan.TRAINING / 3)


def test_the_fraction_rises_from_nought_to_one_through_all_phases():
    chosen = wanted(4, transition={"posteriors": "k-fold", "folds": 2})
    told = told_of(chosen)
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


def test_rounds_of_stage_1_move_the_fraction_and_those_that_are_spared_are_skipped():
    stage1 = {"epochs": 4, "batch_size": 32, "rounds": 2}
    chosen = wanted(4, stage1=stage1, transition={"posteriors": "k-fold", "folds": 2})
    told = told_of(chosen, onward=True)  # as many epochs again for the second round: 4 + 2 + 2, twice, + 4
    done = [told.training(step, 1.0) for step in ("stage1", "fold-1", "fold-2", "fold-1-round-2")]
    assert done == pytest.approx([plan.TRAINING * epochs / 20 for epochs in (4, 6, 8, 10)])
    assert told.phase("stage2") == pytest.approx(plan.TRAINING * 10 / 14)  # of what is left four are to come
    assert told.training("stage2", 0.5) == pytest.approx(plan.TRAINING * 12 / 14)
    assert told.training("stage2", 1.0) == pytest.approx(plan.TRAINING)


def test_epochs_count_by_the_rows_they_see():
    told = told_of(
        wanted(4, transition={"posteriors": "k-fold", "folds": 2})
    )  # 4 + 2 + 2 + 4 epochs of all rows
    assert told.training("stage1", 1.0) == pytest.approx(plan.TRAINING / 3)
    assert told.training("fold-1", 1.0) == pytest.approx(plan.TRAINING / 2)
    assert told.training("fold-2", 1.0) == pytest.approx(plan.TRAINING * 2 / 3)


def test_a_member_of_auto_that_takes_the_place_of_pairs_counts_as_they_would():
    told = told_of(wanted(4, method="auto"), [3000, 3000])
    assert told.training("stage2-f-class2simi", 0.5) == told_of(
        wanted(4, method="auto"), [3000, 3000]
    ).training("stage2-reweight", 0.5)
    assert told.training("stage2-f-class2simi", 1.0) == pytest.approx(plan.TRAINING)


def test_a_resumed_run_begins_where_its_states_are(tmp_path):
    for name in ("stage1/epoch-00003", "stage1/epoch-00004", "stage2/epoch-00001", "stage2/epoch-00002.part"):
        (tmp_path / name).mkdir(parents=True)
    told = told_of(wanted(4))
    told.take_up(tmp_path)
    assert told.phase("loading") == pytest.approx(plan.TRAINING * 5 / 8)


def test_the_time_left_follows_the_pace_of_this_process(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(plan.time, "monotonic", lambda: now[0])
    clock = plan.Clock()
    assert clock.left(0.5) is None  # half was done by an earlier attempt
    now[0] += 30
    assert clock.left(0.6) is None  # nor do its first batches tell, which set up what the others find
    now[0] += 10
    assert clock.left(0.7) == pytest.approx(30)
    assert clock.elapsed == 40
    assert clock.left(1.0) == 0
