import json
from pathlib import Path

import numpy as np
import pytest

from c2s.methods import droprates

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "schedules.json").read_text())


@pytest.mark.parametrize(("rate", "ramp", "exponent"), [(0.2, 10, 1), (0.6, 10, 1), (0.45, 5, 2)])
def test_the_ramp_is_the_golden_one(rate, ramp, exponent):
    plan = droprates.Gradual(rate, ramp, exponent)
    ours = [plan.at(droprates.Moment(epoch, 20)) for epoch in range(20)]
    golden = GOLDEN[f"coteaching_tau{rate:.2f}_k{ramp}_exp{exponent}_20epochs"]
    np.testing.assert_allclose(ours, golden, atol=1e-9)


def test_the_searched_curve_is_the_golden_one():
    plan = droprates.Searched(tuple(GOLDEN["s2e_params"]), 20)
    ours = [plan.at(droprates.Moment(epoch, 20)) for epoch in range(20)]
    np.testing.assert_allclose(ours, GOLDEN["s2e_forget_20epochs"], atol=1e-9)


def test_a_short_stage_reaches_the_full_rate():
    plan = droprates.Gradual(0.4)
    assert plan.at(droprates.Moment(0, 6)) == 0
    assert plan.at(droprates.Moment(3, 6)) == 0.4


def test_a_trial_runs_through_the_whole_curve():
    plan = droprates.Searched(tuple(GOLDEN["s2e_params"]), 20)
    assert plan.at(droprates.Moment(1, 2)) == plan.at(droprates.Moment(10, 20))


def test_every_curve_leaves_something_to_train_on():
    rng = np.random.default_rng(0)
    for curve in droprates.sample(droprates.ignorance(), 200, rng):
        rates = [droprates.Searched(curve, 15).at(droprates.Moment(epoch, 15)) for epoch in range(15)]
        assert min(rates) >= 0
        assert max(rates) <= droprates.MOST


@pytest.mark.parametrize("rate", [-0.2, 1.7])
def test_rates_are_clipped(rate):
    assert 0 <= droprates.clipped(rate) <= 0.99


def test_what_did_well_is_drawn_more_often():
    rng = np.random.default_rng(0)
    elite = [tuple(0.9 * droprates.REACH)] * 8
    belief = droprates.learnt(droprates.ignorance(), elite)
    assert (belief >= 1).all()
    before, after = (
        np.array(droprates.sample(b, 300, rng)) / droprates.REACH for b in (droprates.ignorance(), belief)
    )
    assert after.mean() > before.mean() + 0.2
