import json
import math
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from c2s.methods import losses

GOLDEN = Path(__file__).parents[2] / "golden"
PAIR_CASES = {
    case["name"]: case for case in json.loads((GOLDEN / "class2simi_loss.json").read_text())["cases"]
}
BASELINES = json.loads((GOLDEN / "baseline_losses.json").read_text())
NO_CAP = {"max_weight": math.inf}


def tensor(values):
    return torch.tensor(values, dtype=torch.float64)


def batch(B, c, *, seed=0):
    rng = torch.Generator().manual_seed(seed)
    return 2 * torch.randn(B, c, generator=rng, dtype=torch.float64), torch.randint(c, (B,), generator=rng)


def noisy_classes(c, *, keep=0.6, seed=0):
    rng = torch.Generator().manual_seed(seed)
    rows = torch.rand(c, c, generator=rng, dtype=torch.float64) ** 3
    return keep * torch.eye(c, dtype=torch.float64) + (1 - keep) * rows / rows.sum(1, keepdim=True)


def averaged(c, t11, t01):
    return torch.full((c, c), t01, dtype=torch.float64).fill_diagonal_(t11)


def evaluated(loss, logits, *arguments, **options):
    leaf = logits.clone().requires_grad_()
    value = loss(leaf, *arguments, **options)
    value.backward()
    return value.detach(), leaf.grad


def assert_same(found, expected, *, tolerance=1e-11):
    for part, reference in zip(found, expected, strict=True):
        torch.testing.assert_close(part, reference, atol=tolerance, rtol=0)


GOLDEN_PAIRS = {
    "forward_all_pairs_with_diagonal": lambda z, y, M: losses.forward_pairs(z, y, M, eps=1e-12),
    "forward_off_diagonal_mean": lambda z, y, M: losses.forward_pairs(z, y, M, diagonal=0.0, eps=1e-12),
    "uncorrected_mcl_with_diagonal": lambda z, y, M: losses.mcl(z, y, eps=1e-12),
    "reweight_detached_weight_times_loss_with_diagonal": lambda z, y, M: losses.reweight_pairs(
        z, y, M, eps=1e-12, **NO_CAP
    ),
    "reweight_detached_weight_times_loss_off_diagonal": lambda z, y, M: losses.reweight_pairs(
        z, y, M, diagonal=0.0, eps=1e-12, **NO_CAP
    ),
}


@pytest.mark.parametrize("name", GOLDEN_PAIRS)
@pytest.mark.parametrize("case", PAIR_CASES)
def test_pair_losses_and_gradients_are_the_golden_ones(case, name):
    facts = PAIR_CASES[case]
    M = averaged(facts["c"], facts["T_s11"], facts["T_s01"])
    found = evaluated(GOLDEN_PAIRS[name], tensor(facts["logits"]), torch.tensor(facts["labels"]), M)
    # the golden MCL of the saturated batch takes 1 - S of an S within 1e-9 of 1, and has lost that many digits itself
    tolerance = 1e-8 if (case, name) == ("B4_c4_saturated", "uncorrected_mcl_with_diagonal") else 1e-9
    assert_same(found, (tensor(facts[name]["loss"]), tensor(facts[name]["grad"])), tolerance=tolerance)


GOLDEN_BASELINES = {
    "ce": lambda z, y: losses.cross_entropy(z, y),
    "forward_sym0.4": lambda z, y: losses.forward(z, y, tensor(BASELINES["T_sym"])),
    "forward_T2": lambda z, y: losses.forward(z, y, tensor(BASELINES["T2"])),
    "backward_T2": lambda z, y: losses.backward(z, y, tensor(BASELINES["T2"])),
    "reweight_T2_vectorised": lambda z, y: losses.reweight(z, y, tensor(BASELINES["T2"]), **NO_CAP),
    "phuber_ce_tau2": lambda z, y: losses.phuber(z, y, tau=2.0),
    "phuber_ce_tau10": lambda z, y: losses.phuber(z, y, tau=10.0),
    "phuber_ce_tau2_logits_x4": lambda z, y: losses.phuber(z, y, tau=2.0),
    "phuber_ce_tau10_logits_x4": lambda z, y: losses.phuber(z, y, tau=10.0),
    "nce": lambda z, y: losses.apl(z, y, passive="mae", alpha=1.0, beta=0.0),
    "rce": lambda z, y: losses.apl(z, y, passive="rce", alpha=0.0, beta=1.0),
    "mae_reduced": lambda z, y: losses.apl(z, y, passive="mae", alpha=0.0, beta=1.0),
    "nce+rce_a10_b0.1": lambda z, y: losses.apl(z, y, passive="rce", alpha=10.0, beta=0.1),
    "nce+rce_a1_b10": lambda z, y: losses.apl(z, y, passive="rce", alpha=1.0, beta=10.0),
    "nce+mae_a1_b10": lambda z, y: losses.apl(z, y, passive="mae", alpha=1.0, beta=10.0),
    "l2c_mcl_eps1e-7": lambda z, y: losses.mcl(z, y, eps=1e-7),
    "l2c_kcl_margin2": lambda z, y: losses.kcl(z, y),
}


@pytest.mark.parametrize("name", GOLDEN_BASELINES)
def test_baseline_losses_and_gradient_norms_are_the_golden_ones(name):
    y = torch.tensor(BASELINES["labels"])
    steep = 4.0 if name.endswith("_x4") else 1.0
    loss, gradient = evaluated(GOLDEN_BASELINES[name], steep * tensor(BASELINES["logits_net1"]), y)
    golden = BASELINES["results"][name]
    assert_same(
        (loss, gradient.norm()), (tensor(golden["loss"]), tensor(golden["grad_l2"][0])), tolerance=1e-9
    )


def test_revision_is_golden_and_its_gradient_reaches_the_transition_matrix():
    delta = tensor(BASELINES["delta_T"]).requires_grad_()
    T, y = tensor(BASELINES["T2"]) + delta, torch.tensor(BASELINES["labels"])
    loss, gradient = evaluated(losses.revision, tensor(BASELINES["logits_net1"]), y, T, **NO_CAP)
    golden = BASELINES["results"]["revision_T2_intended_full_gradient"]
    expected = tensor([golden["loss"], *golden["grad_l2"]])
    assert_same((loss, gradient.norm(), delta.grad.norm()), expected, tolerance=1e-9)


@pytest.mark.parametrize("diagonal", [0.0, 0.5, 1.0])
def test_without_noise_the_corrected_pair_losses_are_mcl(diagonal):
    logits, y = batch(30, 5)
    identity = torch.eye(5, dtype=torch.float64)
    mcl = evaluated(losses.mcl, logits, y, diagonal=diagonal)
    assert_same(evaluated(losses.forward_pairs, logits, y, identity, diagonal=diagonal), mcl)
    assert_same(
        evaluated(losses.reweight_pairs, logits, y, identity, diagonal=diagonal, max_weight=10.0), mcl
    )


@pytest.mark.parametrize("scale", [1.0, 500.0])
def test_without_noise_the_corrected_pointwise_losses_are_cross_entropy(scale):
    logits, y = batch(30, 5)
    identity = torch.eye(5, dtype=torch.float64)
    cross_entropy = evaluated(losses.cross_entropy, scale * logits, y)
    assert_same(evaluated(losses.forward, scale * logits, y, identity), cross_entropy, tolerance=1e-9)
    assert_same(evaluated(losses.backward, scale * logits, y, identity), cross_entropy, tolerance=1e-9)
    found = evaluated(losses.reweight, scale * logits, y, identity, max_weight=10.0)
    assert_same(found, cross_entropy, tolerance=1e-8)


PAIRWISE = {
    "mcl": lambda z, y, M: losses.mcl(z, y),
    "forward": lambda z, y, M: losses.forward_pairs(z, y, M, diagonal=0.5),
    "reweight": lambda z, y, M: losses.reweight_pairs(z, y, M, max_weight=10.0),
    "kcl": lambda z, y, M: losses.kcl(z, y),
}


@pytest.mark.parametrize("name", PAIRWISE)
def test_the_order_of_rows_does_not_matter(name):
    logits, y = batch(300, 4)
    order = torch.randperm(300, generator=torch.Generator().manual_seed(1))
    loss, gradient = evaluated(PAIRWISE[name], logits, y, averaged(4, 0.6, 0.2))
    shuffled = evaluated(PAIRWISE[name], logits[order], y[order], averaged(4, 0.6, 0.2))
    assert_same(shuffled, (loss, gradient[order]))


@pytest.mark.parametrize("name", ["mcl", "forward", "reweight", "kcl"])
def test_only_which_labels_are_equal_matters(name):
    logits, y = batch(20, 4)
    renamed = torch.tensor([2, 3, 1, 0])[y]
    expected = evaluated(PAIRWISE[name], logits, y, averaged(4, 0.6, 0.2))
    assert_same(evaluated(PAIRWISE[name], logits, renamed, averaged(4, 0.6, 0.2)), expected)


@settings(max_examples=20, deadline=None)
@given(c=st.integers(2, 6), keep=st.floats(0.1, 0.95), seed=st.integers(0, 99))
def test_the_exact_form_is_the_inner_product_of_noisy_posteriors(c, keep, seed):
    logits, y = batch(12, c, seed=seed)
    T = noisy_classes(c, keep=keep, seed=seed)
    noisy = logits.softmax(1) @ T
    similar = noisy @ noisy.T
    expected = -torch.where(y[:, None] == y, similar, 1 - similar).log().mean()
    torch.testing.assert_close(losses.forward_pairs(logits, y, T @ T.T), expected, atol=1e-10, rtol=0)


def test_the_weight_outside_the_logarithm_changes_the_gradient():
    logits, y = batch(20, 4)
    _, plain = evaluated(losses.mcl, logits, y)
    _, weighted = evaluated(losses.reweight_pairs, logits, y, averaged(4, 0.5, 0.2), max_weight=10.0)
    assert (plain - weighted).abs().max() > 1e-3 * plain.abs().max()


@pytest.mark.parametrize("loss", [losses.forward, losses.revision])
def test_gradients_of_logits_and_transition_matrix_are_those_of_finite_differences(loss):
    logits, y = batch(6, 3)
    options = {} if loss is losses.forward else {"max_weight": 1.5}
    T = noisy_classes(3).requires_grad_()
    assert torch.autograd.gradcheck(lambda z, t: loss(z, y, t, **options), (logits.requires_grad_(), T))


def test_a_zero_of_the_transition_matrix_has_the_gradient_of_its_neighbourhood():
    logits, y = batch(40, 3)
    T = tensor([[0.7, 0.3, 0.0], [0.0, 1.0, 0.0], [0.2, 0.0, 0.8]]).requires_grad_()
    losses.forward(logits, y, T).backward()
    f = logits.softmax(1)
    expected = torch.zeros(3, 3, dtype=torch.float64)
    for row, label in zip(f, y, strict=True):
        expected[:, label] -= row / (row @ T.detach()[:, label]) / len(y)
    torch.testing.assert_close(T.grad, expected, atol=1e-9, rtol=1e-9)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("loss", [losses.forward, losses.reweight, losses.revision])
def test_saturated_logits_and_impossible_labels_give_numbers(loss, dtype):
    logits = torch.tensor([[1000.0, -1000.0, 0.0], [-1000.0, 1000.0, 0.0], [0.0, 0.0, 0.0]], dtype=dtype)
    T = torch.tensor(
        [[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.5, 0.5, 0.0]], requires_grad=True
    )  # nothing becomes 2
    options = {} if loss is losses.forward else {"max_weight": 10.0}
    value, gradient = evaluated(loss, logits, torch.tensor([1, 2, 2]), T, **options)
    assert math.isfinite(value)
    assert gradient.dtype == dtype
    assert gradient.isfinite().all()
    assert T.grad is None or T.grad.isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_forward_still_learns_from_a_saturated_mistake(dtype):
    logits = torch.tensor([[1000.0, -1000.0, -1000.0]], dtype=dtype)
    _, gradient = evaluated(losses.forward, logits, torch.tensor([1]), torch.eye(3))
    assert gradient.tolist() == [[1.0, -1.0, 0.0]]


def test_importance_is_constant_in_reweight_and_learnt_in_revision():
    logits, y = batch(30, 4)
    T = noisy_classes(4).requires_grad_()
    kept = losses.reweight(logits.requires_grad_(), y, T, max_weight=10.0)
    assert torch.autograd.grad(kept, T, allow_unused=True)[0] is None
    revised = losses.revision(logits, y, T, max_weight=10.0)
    torch.testing.assert_close(revised, kept)
    assert torch.autograd.grad(revised, T)[0].abs().max() > 1e-3


@pytest.mark.parametrize("loss", [losses.reweight, losses.revision])
def test_importance_is_capped(loss):
    logits, y = batch(30, 4)
    T = 0.01 * torch.eye(4, dtype=torch.float64)  # every importance is 100
    expected = evaluated(lambda z: 3 * losses.cross_entropy(z, y), logits)
    assert_same(evaluated(loss, logits, y, T, max_weight=3.0), expected)


def test_a_weight_beyond_all_numbers_is_capped_before_it_spoils_the_gradient():
    logits, swapped = (
        torch.tensor([[1000.0, -1000.0]]),
        torch.tensor([[0.0, 1.0], [1.0, 0.0]], requires_grad=True),
    )
    _, gradient = evaluated(losses.revision, logits, torch.tensor([0]), swapped, max_weight=10.0)
    assert gradient.isfinite().all()
    assert swapped.grad.isfinite().all()


def test_kcl_is_its_definition():
    logits, y = batch(6, 3)
    probs = logits.softmax(1) + 1e-7
    total = 0.0
    for i in range(6):
        for j in range(6):
            divergence = (probs[j] * (probs[j] / probs[i]).log()).sum().item()
            total += divergence if y[i] == y[j] else max(0.0, 0.7 - divergence)
    assert losses.kcl(logits, y, margin=0.7).item() == pytest.approx(total / 36, abs=1e-12)
