import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from c2s.matrix import transition
from c2s.methods import pairs

PLAIN = pairs.Weighting()


def batch(B, c, *, seed=0, scale=2.0):
    rng = torch.Generator().manual_seed(seed)
    logits = scale * torch.randn(B, c, generator=rng, dtype=torch.float64)
    return logits, torch.randint(c, (B,), generator=rng)


def noisy_classes(c, *, seed=0, keep=0.6):
    rng = np.random.default_rng(seed)
    return torch.tensor(keep * np.eye(c) + (1 - keep) * rng.dirichlet(np.full(c, 0.5), c))


def averaged(c, t11, t01):
    return torch.tensor(transition.averaged_form(np.array([[1 - t01, t01], [1 - t11, t11]]), c))


def forms(c):
    T = noisy_classes(c)
    return {
        "identity": torch.eye(c, dtype=torch.float64),
        "averaged": averaged(c, 0.6, 0.1),
        "exact": T @ T.T,
    }


def by_definition(logits, y, M, *, diagonal=1.0, observed=None, max_weight=math.inf):
    """The loss pair by pair, with autograd."""
    f = logits.softmax(1)
    total, count = torch.zeros((), dtype=logits.dtype), 0.0
    for i in range(len(y)):
        for j in range(len(y)):
            chances = [
                f[i] @ (form if y[i] == y[j] else 1 - form) @ f[j]
                for form in (M, observed)
                if form is not None
            ]
            share = diagonal if i == j else 1.0
            weight = 1.0 if observed is None else min((chances[0] / chances[1]).item(), max_weight)
            total = total - share * weight * chances[0].log()
            count += share
    return total / count if count else total


def by_matrix(logits, y, M):
    """The loss with every B x B matrix written out, for batches too large for a double loop."""
    f = logits.softmax(1)
    same = f @ M @ f.T
    return -torch.where(y[:, None] == y, same, 1 - same).log().mean()


def evaluated(loss, logits, *arguments, **options):
    leaf = logits.clone().requires_grad_()
    value = loss(leaf, *arguments, **options)
    if value.requires_grad:
        value.backward()
    return value.detach(), torch.zeros_like(leaf) if leaf.grad is None else leaf.grad


def assert_same(found, expected, *, tolerance=1e-11):
    for part, reference in zip(found, expected, strict=True):
        torch.testing.assert_close(part, reference, atol=tolerance, rtol=0)


def test_similarity_labels_say_which_rows_share_a_label():
    H = pairs.similarity_labels(torch.tensor([2, 0, 2]))
    assert H.tolist() == [[True, False, True], [False, True, False], [True, False, True]]


def test_similarity_posterior_is_the_inner_product_of_rows():
    probs = torch.tensor([[0.5, 0.5], [1.0, 0.0]])
    assert pairs.similarity_posterior(probs).tolist() == [[0.5, 0.5], [0.5, 1.0]]


@pytest.mark.parametrize("diagonal", [0.0, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("name", ["identity", "averaged", "exact"])
def test_the_loss_and_its_gradient_are_those_of_the_definition(name, diagonal):
    logits, y = batch(7, 4)
    M = forms(4)[name]
    found = evaluated(pairs.log_loss, logits, y, M, weighting=pairs.Weighting(diagonal))
    assert_same(found, evaluated(by_definition, logits, y, M, diagonal=diagonal))


@pytest.mark.parametrize("max_weight", [0.9, 10.0])
@pytest.mark.parametrize("diagonal", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("name", ["identity", "averaged", "exact"])
def test_importance_is_a_capped_constant_outside_the_logarithm(name, diagonal, max_weight):
    logits, y = batch(7, 4, seed=1)
    clean, noisy = forms(4)["identity"], forms(4)[name]
    weighting = pairs.Weighting(diagonal, observed=noisy, max_weight=max_weight)
    found = evaluated(pairs.log_loss, logits, y, clean, weighting=weighting)
    options = {"diagonal": diagonal, "observed": noisy, "max_weight": max_weight}
    assert_same(found, evaluated(by_definition, logits, y, clean, **options))


@settings(max_examples=25, deadline=None)
@given(
    B=st.integers(1, 6),
    c=st.integers(2, 5),
    seed=st.integers(0, 99),
    keep=st.floats(0, 1),
    diagonal=st.sampled_from([0.0, 0.3, 1.0]),
)
def test_the_definition_holds_for_any_transition_matrix(B, c, seed, keep, diagonal):
    logits, y = batch(B, c, seed=seed)
    T = noisy_classes(c, seed=seed, keep=keep)
    found = evaluated(pairs.log_loss, logits, y, T @ T.T, weighting=pairs.Weighting(diagonal))
    assert_same(found, evaluated(by_definition, logits, y, T @ T.T, diagonal=diagonal), tolerance=1e-9)


@pytest.mark.parametrize("name", ["identity", "averaged", "exact"])
def test_the_gradient_is_that_of_finite_differences(name):
    logits, y = batch(6, 3)
    M = forms(3)[name]
    weighting = pairs.Weighting(0.5)
    assert torch.autograd.gradcheck(
        lambda z: pairs.log_loss(z, y, M, weighting=weighting), logits.requires_grad_()
    )


@pytest.mark.parametrize("B", [255, 256, 257, 600])
@pytest.mark.parametrize("name", ["identity", "averaged", "exact"])
def test_blocks_join_without_a_seam(B, name):
    logits, y = batch(B, 5)
    M = forms(5)[name]
    found = evaluated(pairs.log_loss, logits, y, M, weighting=PLAIN)
    assert_same(found, evaluated(by_matrix, logits, y, M))


@pytest.mark.parametrize(
    "weighting", [pairs.Weighting(0.0), pairs.Weighting(2.0, observed=averaged(3, 0.7, 0.2))]
)
def test_the_size_of_a_block_changes_nothing(monkeypatch, weighting):
    logits, y = batch(50, 3)
    whole = evaluated(pairs.log_loss, logits, y, torch.eye(3), weighting=weighting, eps=1e-7)
    monkeypatch.setattr(pairs, "BLOCK", 7)
    assert_same(evaluated(pairs.log_loss, logits, y, torch.eye(3), weighting=weighting, eps=1e-7), whole)


@pytest.mark.parametrize("name", ["identity", "averaged", "exact"])
@pytest.mark.parametrize("steep", [1.0, 3.0, 1e9])
def test_both_ways_of_summing_dissimilar_pairs_agree(monkeypatch, name, steep):
    logits, y = batch(20, 4)
    reference = evaluated(by_matrix, logits, y, forms(4)[name])
    monkeypatch.setattr(pairs, "STEEP", steep)
    assert_same(evaluated(pairs.log_loss, logits, y, forms(4)[name], weighting=PLAIN), reference)


@pytest.mark.parametrize(("B", "c"), [(128, 10), (300, 100)])
@pytest.mark.parametrize("name", ["identity", "averaged", "exact"])
def test_float32_keeps_five_digits_of_the_largest_gradient(B, c, name):
    logits, y = batch(B, c)
    logits = logits.float().double()
    M = averaged(c, 0.3, 0.7 / c) if name == "averaged" else forms(c)[name]
    loss, gradient = evaluated(pairs.log_loss, logits, y, M, weighting=PLAIN)
    single_loss, single = evaluated(pairs.log_loss, logits.float(), y, M.float(), weighting=PLAIN)
    assert single.dtype == torch.float32
    assert abs(single_loss - loss) < 1e-6 * loss
    assert (single - gradient).abs().max() < 1e-5 * gradient.abs().max()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64])
@pytest.mark.parametrize("name", ["identity", "averaged", "exact"])
def test_a_saturated_similar_pair_is_pulled_together(dtype, name):
    logits = torch.full((2, 4), -1000.0, dtype=dtype)
    logits[0, 1] = logits[1, 2] = 1000.0
    loss, gradient = evaluated(
        pairs.log_loss, logits, torch.tensor([3, 3]), forms(4)[name], weighting=pairs.Weighting(0.0)
    )
    assert math.isfinite(loss)
    assert gradient.isfinite().all()
    assert gradient.dtype == dtype
    if name == "identity":  # elsewhere the noise explains the label
        assert gradient[0, 1] > 0.1 > -0.1 > gradient[0, 2]
        assert gradient[1, 2] > 0.1 > -0.1 > gradient[1, 1]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64])
@pytest.mark.parametrize("name", ["identity", "averaged", "exact"])
def test_a_saturated_dissimilar_pair_is_pushed_apart(dtype, name):
    logits = torch.full((2, 4), -1000.0, dtype=dtype)
    logits[:, 1] = 1000.0
    loss, gradient = evaluated(
        pairs.log_loss, logits, torch.tensor([0, 3]), forms(4)[name], weighting=pairs.Weighting(0.0)
    )
    assert math.isfinite(loss)
    assert gradient.isfinite().all()
    if name == "identity":
        assert (gradient[:, 1] > 0.1).all()
        assert (gradient[:, [0, 2, 3]] < -0.1).all()


@pytest.mark.parametrize("gap", [4.0, 9.0, 14.0, 19.0, 24.0])
def test_float32_stays_true_on_the_way_to_saturation(gap):
    logits, y = batch(40, 4, scale=0.1)
    logits[torch.arange(40), torch.arange(40) % 4] += gap
    logits = logits.float().double()
    loss, gradient = evaluated(pairs.log_loss, logits, y, torch.eye(4), weighting=PLAIN)
    single_loss, single = evaluated(pairs.log_loss, logits.float(), y, torch.eye(4), weighting=PLAIN)
    assert abs(single_loss - loss) < 1e-3 * loss
    assert (single - gradient).abs().max() < 1e-2 * gradient.abs().max()


def test_a_pair_that_the_noise_makes_impossible_costs_a_finite_price():
    logits, y = batch(5, 3)
    loss, gradient = evaluated(pairs.log_loss, logits.float(), y, torch.ones(3, 3), weighting=PLAIN)
    assert 0 < loss < 100
    assert gradient.abs().max() < 1e-5


def test_a_lone_row_without_its_own_pair_loses_nothing():
    logits, y = batch(1, 3)
    loss, gradient = evaluated(pairs.log_loss, logits, y, torch.eye(3), weighting=pairs.Weighting(0.0))
    assert loss == 0
    assert not gradient.any()


def test_without_gradients_the_loss_is_the_same_and_carries_no_graph():
    logits, y = batch(9, 3)
    expected = pairs.log_loss(logits.requires_grad_(), y, torch.eye(3), weighting=PLAIN)
    with torch.no_grad():
        loss = pairs.log_loss(logits, y, torch.eye(3), weighting=PLAIN)
    assert expected.requires_grad
    assert not loss.requires_grad
    assert loss == expected
    assert pairs.log_loss(logits.detach(), y, torch.eye(3), weighting=PLAIN) == expected


def test_the_gradient_scales_and_serves_more_than_one_backward_pass():
    logits, y = batch(9, 3)
    leaf = logits.requires_grad_()
    loss = pairs.log_loss(leaf, y, torch.eye(3), weighting=PLAIN)
    (once,) = torch.autograd.grad(loss, leaf, retain_graph=True)
    (thrice,) = torch.autograd.grad(3 * loss, leaf)
    torch.testing.assert_close(thrice, 3 * once)


def test_a_second_derivative_is_refused():
    logits, y = batch(5, 3)
    loss = pairs.log_loss(logits.requires_grad_(), y, torch.eye(3), weighting=PLAIN)
    with pytest.raises(NotImplementedError, match="only once"):
        torch.autograd.grad(loss, logits, create_graph=True)


@pytest.mark.parametrize("name", ["identity", "averaged"])
def test_autocast_does_not_round_the_products(name):
    logits, y = batch(300, 10)
    M = forms(10)[name]
    expected = evaluated(pairs.log_loss, logits.float(), y, M, weighting=PLAIN)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert_same(evaluated(pairs.log_loss, logits.float(), y, M, weighting=PLAIN), expected, tolerance=0)


def test_arguments_are_left_alone():
    logits, y = batch(9, 3)
    M = torch.eye(3, dtype=torch.float64)
    before = [part.clone() for part in (logits, y, M)]
    evaluated(pairs.log_loss, logits, y, M, weighting=pairs.Weighting(0.5, observed=M), eps=1e-7)
    assert all(torch.equal(part, old) for part, old in zip((logits, y, M), before, strict=True))
