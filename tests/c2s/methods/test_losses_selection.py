"""Losses of two nets, and the one that remembers."""

import json
from pathlib import Path

import pytest
import torch

from c2s.methods import losses

BASELINES = json.loads((Path(__file__).parents[2] / "golden" / "baseline_losses.json").read_text())
LOGITS = torch.tensor([BASELINES["logits_net1"], BASELINES["logits_net2"]], dtype=torch.float64)
Y = torch.tensor(BASELINES["labels"])


def rate(value):
    return torch.tensor(value, dtype=torch.float64)


@pytest.mark.parametrize("dropped", ["0.00", "0.30", "0.45"])
def test_co_teaching_is_the_golden_one(dropped):
    golden = BASELINES["results"][f"coteaching_forget{dropped}"]
    loss = losses.co_teaching(LOGITS, Y, rate(float(dropped)))
    assert float(loss) == pytest.approx(golden["mean_loss1"] + golden["mean_loss2"], abs=1e-9)


@pytest.mark.parametrize("dropped", ["0.00", "0.30", "0.45"])
@pytest.mark.parametrize("agreement", [0.1, 0.9])
def test_jocor_is_the_golden_one(dropped, agreement):
    golden = BASELINES["results"][f"jocor_forget{dropped}_lambda{agreement}"]["loss"]
    loss = losses.jocor(LOGITS, Y, rate(float(dropped)), agreement=agreement)
    assert float(loss) == pytest.approx(golden, abs=1e-9)


def test_each_net_learns_from_the_rows_that_the_other_chose():
    golden = BASELINES["results"]["coteaching_forget0.30"]
    logits = LOGITS.clone().requires_grad_()
    losses.co_teaching(logits, Y, rate(0.3)).backward()
    moved = [set(torch.nonzero(net.abs().sum(1)).flatten().tolist()) for net in logits.grad]
    assert moved == [set(golden["kept_by_net2"]), set(golden["kept_by_net1"])]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_rounded_rate_costs_no_row(dtype):
    logits = LOGITS.to(dtype).requires_grad_()
    losses.jocor(logits, Y, torch.tensor(0.3, dtype=torch.float32), agreement=0.5).backward()
    assert int((logits.grad[0].abs().sum(1) > 0).sum()) == 7


def test_something_is_always_kept():
    assert torch.isfinite(losses.co_teaching(LOGITS, Y, rate(0.99)))


def test_with_nothing_dropped_co_teaching_is_cross_entropy_of_both():
    both = sum(losses.cross_entropy(net, Y) for net in LOGITS)
    torch.testing.assert_close(losses.co_teaching(LOGITS, Y, rate(0.0)), both)


def test_phuber_never_pulls_harder_than_tau():
    logits = torch.tensor([[-30.0, 30.0]], dtype=torch.float64, requires_grad=True)
    loss = losses.phuber(logits, torch.tensor([0]), tau=10.0)
    loss.backward()
    assert loss.item() == pytest.approx(3.302585, abs=1e-6)
    assert torch.isfinite(logits.grad).all()


def test_remembering_rewards_a_row_that_stays_what_it_was():
    stays, turns = torch.tensor([[0.9, 0.1]]), torch.tensor([[0.1, 0.9]])
    remembered = torch.tensor([[0.8, 0.2]])
    assert losses.early_learning(stays, remembered) < losses.early_learning(turns, remembered)
    assert torch.isfinite(losses.early_learning(torch.eye(2), torch.eye(2)))
