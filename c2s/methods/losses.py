"""The losses: pointwise, of a row and its label, and pairwise, of all pairs of rows of a batch; each a mean.

Logits are (B, c) and labels y (B,), every one a class. T[i, j] = P(noisy = j | clean = i); M is a form of `pairs`:
M[k, l] = P(noisy labels equal | clean classes k and l). Half-precision logits are computed with in float32.
Losses of two nets take the logits of both, (2, B, c), and the share of the batch to drop.
"""

import math
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

from c2s.methods import pairs

EPS = 1e-12  # keeps the logarithm of a label that T makes impossible finite
REACH = 16.0  # bounds, as a logarithm, how steep such a label makes the loss in a zero of T
KCL_EPS = 1e-7  # its authors'
RCE = 9.21034049987793  # -log 1e-4, its authors' -log 0, as float32 has it
AGREED = 1 - 1e-4  # the most that a row may agree with what is remembered of it; the authors' of ELR


def cross_entropy(logits: Tensor, y: Tensor) -> Tensor:
    """-log f_y."""
    return functional.nll_loss(_log_posterior(logits), y)


def forward(logits: Tensor, y: Tensor, T: Tensor) -> Tensor:
    """-log (T^T f)_y (Patrini et al. 2017); T may be learnt."""
    return -_log_noisy(_log_posterior(logits), y, T).mean()


def backward(logits: Tensor, y: Tensor, T: Tensor) -> Tensor:
    """-(T^-1 log f)_y (Patrini et al. 2017): unbiased, unbounded below, and only for an invertible T."""
    logp = _log_posterior(logits)
    inverse: Tensor = torch.linalg.inv(T.to(logp.dtype))  # (c, c)
    return -(inverse[y] * logp).sum(1).mean()


def reweight(logits: Tensor, y: Tensor, T: Tensor, *, max_weight: float) -> Tensor:
    """-beta log f_y with the importance beta = f_y / (T^T f)_y a constant (Liu and Tao 2016)."""
    log_clean, beta = _importance(logits, y, T, max_weight=max_weight)
    return -(beta.detach() * log_clean).mean()


def revision(logits: Tensor, y: Tensor, T: Tensor, *, max_weight: float) -> Tensor:
    """-beta log f_y with a gradient through beta, which is how T is revised (Xia et al. 2019)."""
    log_clean, beta = _importance(logits, y, T, max_weight=max_weight)
    return -(beta * log_clean).mean()


def mcl(logits: Tensor, y: Tensor, *, diagonal: float = 1.0, eps: float = 0.0) -> Tensor:
    """The likelihood of the pairs, labels taken as they are (Hsu et al. 2019)."""
    return pairs.log_loss(logits, y, _identity(logits), weighting=pairs.Weighting(diagonal), eps=eps)


def forward_pairs(logits: Tensor, y: Tensor, M: Tensor, *, diagonal: float = 1.0, eps: float = 0.0) -> Tensor:
    """F-Class2Simi: the likelihood of noisy pairs, each row's pair with itself counting `diagonal` times."""
    return pairs.log_loss(logits, y, M, weighting=pairs.Weighting(diagonal), eps=eps)


def reweight_pairs(
    logits: Tensor, y: Tensor, M: Tensor, *, max_weight: float, diagonal: float = 1.0, eps: float = 0.0
) -> Tensor:
    """R-Class2Simi: MCL with each pair's importance outside the logarithm, where it changes the gradient."""
    weighting = pairs.Weighting(diagonal, observed=M, max_weight=max_weight)
    return pairs.log_loss(logits, y, _identity(logits), weighting=weighting, eps=eps)


def kcl(logits: Tensor, y: Tensor, *, margin: float = 2.0) -> Tensor:
    """Divergence pulled to zero in similar pairs and above the margin in others (Hsu and Kira 2016)."""
    probs = _log_posterior(logits).exp() + KCL_EPS  # (B, c)
    target = probs.detach()
    negative_entropy = (target * target.log()).sum(1)  # (B,)
    divergence = negative_entropy - probs.log() @ target.T  # (B, B)  KL(f_j || f_i)
    apart = (margin - divergence).clamp(min=0)
    return torch.where(pairs.similarity_labels(y), divergence, apart).mean()


def phuber(logits: Tensor, y: Tensor, *, tau: float) -> Tensor:
    """-log f_y where f_y > 1 / tau, and below that its tangent (Menon et al. 2020)."""
    log_clean = _log_labelled(logits, y)  # (B,)
    tangent = math.log(tau) + 1 - tau * log_clean.exp()
    return torch.where(log_clean > -math.log(tau), -log_clean, tangent).mean()


def apl(logits: Tensor, y: Tensor, *, passive: Literal["rce", "mae"], alpha: float, beta: float) -> Tensor:
    """alpha NCE + beta RCE or MAE: NCE is log f_y / sum_k log f_k, MAE 1 - f_y, RCE 9.2 times that (Ma et al. 2020)."""
    logp = _log_posterior(logits)
    log_clean = logp.gather(1, y[:, None]).squeeze(1)  # (B,)
    bounded = (1 - log_clean.exp()).mean() * (RCE if passive == "rce" else 1.0)
    return alpha * (log_clean / logp.sum(1)).mean() + beta * bounded


def co_teaching(logits: Tensor, y: Tensor, dropped: Tensor) -> Tensor:
    """Each net's cross-entropy on the rows that the *other* one finds easiest (Han et al. 2018), summed."""
    each = -torch.stack([_log_labelled(net, y) for net in logits])  # (2, B)
    easy = _easiest(each, dropped).flip(0)  # (2, B)
    return ((each * easy).sum(1) / easy.sum(1)).sum()


def jocor(logits: Tensor, y: Tensor, dropped: Tensor, *, agreement: float) -> Tensor:
    """Cross-entropy of both nets and their divergence both ways, on the rows easiest in all (Wei et al. 2020)."""
    logp = torch.stack([_log_posterior(net) for net in logits])  # (2, B, c)
    apart = ((logp[0].exp() - logp[1].exp()) * (logp[0] - logp[1])).sum(1)  # (B,)  KL(1 || 2) + KL(2 || 1)
    wrong = -logp.gather(2, y.expand(2, -1)[..., None]).squeeze(2).sum(0)  # (B,)
    each = (1 - agreement) * wrong + agreement * apart
    easy = _easiest(each[None], dropped)[0]
    return (each * easy).sum() / easy.sum()


def early_learning(probs: Tensor, remembered: Tensor) -> Tensor:
    """log(1 - <t, f>), least where a row stays with what it was taken for before (Liu et al. 2020)."""
    agreed = (probs * remembered).sum(-1).clamp(max=AGREED)  # (..., B)
    return (1 - agreed).log().mean()


def _easiest(each: Tensor, dropped: Tensor) -> Tensor:
    """1 for the int((1 - dropped) B) smallest losses of each net's batch, one at least, and 0 for the rest."""
    rank = each.detach().argsort(dim=1, stable=True).argsort(1)  # (nets, B)
    kept = ((1 - dropped) * each.shape[1] + 1e-4).floor().clamp(min=1)  # a rounded rate must not cost a row
    easy: Tensor = (rank < kept).to(each.dtype)
    return easy


def _log_labelled(logits: Tensor, y: Tensor) -> Tensor:
    return _log_posterior(logits).gather(1, y[:, None]).squeeze(1)


def _log_posterior(logits: Tensor) -> Tensor:
    return logits.log_softmax(1, dtype=torch.promote_types(logits.dtype, torch.float32))


def _identity(logits: Tensor) -> Tensor:
    return torch.eye(logits.shape[1], device=logits.device)


def _log_noisy(logp: Tensor, y: Tensor, T: Tensor) -> Tensor:
    """log (T^T f)_y, with a gradient in every entry of T, zeros included, and none that is not a number."""
    column = T.to(logp.dtype).T[y]  # (B, c)  P(noisy = y | clean = k)
    possible = logp.detach().masked_fill(column <= 0, -math.inf)
    top = possible.amax(1, keepdim=True).nan_to_num(neginf=0.0)  # (B, 1)  0 where no class can give y
    scaled = (logp - top).clamp(max=REACH).exp()  # (B, c)  at most 1 where the column is positive
    return top.squeeze(1) + ((scaled * column).sum(1).clamp(min=0) + EPS).log()  # (B,)


def _importance(logits: Tensor, y: Tensor, T: Tensor, *, max_weight: float) -> tuple[Tensor, Tensor]:
    """log f_y and beta = f_y / (T^T f)_y, capped before the exponential so that its gradient stays finite."""
    logp = _log_posterior(logits)
    log_clean = logp.gather(1, y[:, None]).squeeze(1)  # (B,)
    log_beta = log_clean - _log_noisy(logp, y, T)
    return log_clean, log_beta.clamp(max=math.log(max_weight)).exp()
