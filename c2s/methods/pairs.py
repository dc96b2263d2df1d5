"""Pairs of the rows of a batch, never written out: labels -> H, posteriors -> S, and the mean log loss of all pairs.

H[i, j] is true where rows i and j carry the same label. Every pair loss here is one formula,

    l_ij = -log(f_i^T M_h f_j),   h = H_ij,   M_0 = J - M_1,   J all ones,

where f is the softmax and the form M_1, symmetric and constant, says how alike two clean classes look:
M_1[k, l] = P(noisy labels equal | clean classes k and l). The identity gives MCL, t11 on the diagonal and t01 off it
the paper's equation (1), T T^T the exact likelihood.
"""

import math
from itertools import combinations_with_replacement
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

BLOCK = 256  # rows of a tile of pairs: its buffers stay in cache, and nothing B x B is ever kept
# Straight through a floor of log f, a saturated softmax keeps a finite loss and a gradient. It takes a third of the
# exponents, so that the product of two floors, and one over it, are still numbers; the floor of M_0 lies below both.
LOG_FLOOR = {torch.float32: -30.0, torch.float64: -230.0}
FORM_FLOOR = {torch.float32: 1e-30, torch.float64: 1e-230}
STEEP = 64.0  # of 1 / p: beyond it, differences of near equals would cost float32 more than two digits


def similarity_labels(y: Tensor) -> Tensor:
    """H of the paper: which pairs of rows carry the same label."""
    return y[:, None] == y  # (B, B)


def similarity_posterior(probs: Tensor) -> Tensor:
    """S-hat of the paper: the probability that two rows are of the same class."""
    return probs @ probs.T  # (B, B)


class Weighting(NamedTuple):
    """How much a pair counts: by its place, and by its importance where the labels are noisy."""

    diagonal: float = 1.0  # of a row's pair with itself
    observed: Tensor | None = None  # a form: the importance is P(h | M) / P(h | observed), a constant
    max_weight: float = math.inf  # caps the importance


def log_loss(logits: Tensor, y: Tensor, M: Tensor, *, weighting: Weighting, eps: float = 0.0) -> Tensor:
    """The weighted mean of l_ij over all ordered pairs; `eps` is added inside the logarithm."""
    if torch.is_autocast_enabled(logits.device.type):  # it would round the products
        with torch.autocast(logits.device.type, enabled=False):
            return log_loss(logits, y, M, weighting=weighting, eps=eps)
    learns = torch.is_grad_enabled() and logits.requires_grad
    wide = logits if logits.dtype in LOG_FLOOR else logits.float()  # (B, c)
    loss: Tensor = _LogLoss.apply(wide, _Batch(y, M, weighting, eps, learns))
    return loss


class _Batch(NamedTuple):
    """All but the logits."""

    y: Tensor
    M: Tensor
    weighting: Weighting
    eps: float
    learns: bool


class _Context(Protocol):
    """What autograd carries from forward to backward."""

    @property
    def saved_tensors(self) -> tuple[Tensor, ...]: ...

    def save_for_backward(self, *tensors: Tensor) -> None: ...


class _LogLoss(torch.autograd.Function):
    """The loss as a function of logits, its gradient found in the same sweep; backward only scales."""

    @staticmethod
    def forward(ctx: _Context, logits: Tensor, batch: _Batch) -> Tensor:
        f = logits.softmax(1).clamp_(min=math.exp(LOG_FLOOR[logits.dtype]))  # (B, c)  P(clean class)
        loss, slope = _sweep(f, batch)
        if slope is not None:  # straight through the floor; a constant per row of the slope falls out here
            gradient = torch.ops.aten._softmax_backward_data(slope.t(), f, 1, f.dtype)  # (B, c)
            ctx.save_for_backward(gradient)
        return loss

    @staticmethod
    def backward(ctx: _Context, scale: Tensor) -> tuple[Tensor, None]:
        if torch.is_grad_enabled():  # create_graph: what it would build ends at the gradient below
            raise NotImplementedError("a pair loss can be differentiated only once")
        (gradient,) = ctx.saved_tensors
        return scale * gradient, None


def _sweep(f: Tensor, batch: _Batch) -> tuple[Tensor, Tensor | None]:
    """The loss and its gradient in f, transposed, from the tiles on and above the diagonal: pairs are symmetric."""
    B, c = f.shape
    y, M, weighting, eps, learns = batch
    pairs = B * (B - 1 + weighting.diagonal)
    share = -1 / pairs if pairs else 0.0  # a lone row whose own pair is dropped has no pairs
    form = _form(f, M)
    noisy_form = None if weighting.observed is None else _form(f, weighting.observed)
    columns = _blocks(f.t(), B, dim=1)  # (c, m) each
    labels = _blocks(y.to(f.dtype), B)  # exact below 2^24 classes; comparing floats into floats is fast
    slope = f.new_zeros(c, B) if learns else None  # thin products are fast in this orientation
    slopes = () if slope is None else _blocks(slope, B, dim=1)
    loss = f.new_zeros(())
    for a, b in combinations_with_replacement(range(len(labels)), 2):
        other = f.new_empty(len(labels[a]), len(labels[b]))  # (n, m)  1 where the labels differ
        torch.ne(labels[a][:, None], labels[b], out=other)
        noisy = None if noisy_form is None else _likelihood(noisy_form, a, columns[b], other.clone())
        p = _likelihood(form, a, columns[b], other)
        logs, rates = _logs_and_rates(p, noisy, weighting, eps=eps, own=a == b)
        loss.add_(logs.sum(), alpha=share if a == b else 2 * share)
        if slopes:
            for side, r in _by_side(form, rates):
                slopes[b].addmm_(side[a].t(), r, alpha=2 * share)  # (c, m)
                if a != b:
                    slopes[a].addmm_(side[b].t(), r.t(), alpha=2 * share)  # (c, n)
    return loss, slope


def _logs_and_rates(
    p: Tensor, noisy: Tensor | None, weighting: Weighting, *, eps: float, own: bool
) -> tuple[Tensor, Tensor]:
    """log |p| and 1 / p of a tile, weighted; `p` is used up, and `own` says that the tile holds the diagonal."""
    weight = None if noisy is None else (p / noisy).clamp_(max=weighting.max_weight)
    if eps:
        p.add_(p.sign(), alpha=eps)
    rates = p.reciprocal()
    logs = p.abs_().log_()
    for values in (logs, rates):
        if weight is not None:
            values.mul_(weight)
        if own and weighting.diagonal != 1:
            values.diagonal().mul_(weighting.diagonal)
    return logs, rates


Blocks = tuple[Tensor, ...]


def _blocks(x: Tensor, rows: int, dim: int = 0) -> Blocks:
    return (x,) if rows <= BLOCK else x.split(BLOCK, dim)


class _Form(NamedTuple):
    """f M_1 and -f M_0 in blocks of rows, the latter where f_i^T M_1 f_j - 1 would lose digits."""

    similar: Blocks
    dissimilar: Blocks | None


def _form(f: Tensor, M: Tensor) -> _Form:
    rows = len(f)
    similar = _blocks(f @ M.to(f.dtype), rows)  # (n, c) each
    if M.is_cpu and M.amax().item() <= 1 - 1 / STEEP:  # to ask an accelerator would stall it
        return _Form(similar, None)
    return _Form(similar, _blocks(f @ (M - 1).to(f.dtype).clamp_(max=-FORM_FLOOR[f.dtype]), rows))


def _likelihood(form: _Form, a: int, columns: Tensor, other: Tensor) -> Tensor:
    """P(h) of each pair of a tile, with a minus where the labels differ; `other` is used up."""
    if form.dissimilar is None:
        return other.addmm_(form.similar[a], columns, beta=-1)  # (n, m)  P(noisy similar) - other
    similar, dissimilar = form.similar[a] @ columns, form.dissimilar[a] @ columns  # (n, m)
    return torch.lerp(similar, dissimilar, other, out=other)  # a choice: exact at 0 and 1


def _by_side(form: _Form, rates: Tensor) -> list[tuple[Blocks, Tensor]]:
    """The rates r = d log|p| / dp with which each side of the form enters the slope; `rates` is used up.

    The softmax ignores what a slope has in common for all classes, so -M_0 f = M_1 f - s may pass as M_1 f. That keeps
    all digits where s dwarfs the rest, and none where r is steep: what exceeds STEEP is left to M_0.
    """
    if form.dissimilar is None or (rates.is_cpu and rates.amin().item() >= -STEEP):
        return [(form.similar, rates)]
    excess = (rates + STEEP).clamp_(max=0)
    return [(form.similar, rates.sub_(excess)), (form.dissimilar, excess)]
