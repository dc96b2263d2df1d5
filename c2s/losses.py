"""The losses: pointwise, of a row and its label, and pairwise, of all pairs of rows of a batch; each a mean.

Logits are (B, c) and labels y (B,), every one a class. T[i, j] = P(noisy = j | clean = i); M is a form of `pairs`:
M[k, l] = P(noisy labels equal | clean classes k and l). Half-precision logits are computed with in float32.
"""

import math

import torch
from torch import Tensor
from torch.nn import functional

from c2s import pairs

EPS = 1e-12  # keeps the logarithm of a label that T makes impossible finite
REACH = 16.0  # bounds, as a logarithm, how steep such a label makes the loss in a zero of T
KCL_EPS = 1e-7  # its authors'


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
