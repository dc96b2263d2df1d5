"""T_c and a small classifier fitted together: what stage 1 does not know is told from what the labels have wrong.

Counting takes every row that stage 1 puts in the wrong class for a wrong label. Here the clean posterior of a row is a
softmax over the logarithms of its noisy one, and T_c stands between it and the labels; both are those under which the
labels are likeliest, with the smallest volume of T_c where the likelihood does not care (Li et al. 2021, whose net is
here one layer, so nothing is trained). Rows must be judged by nets that have not seen them.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from c2s.matrix import estimation, transition

ROWS = 2**20  # entries of the posterior that are looked at: of more rows every n-th
BLOCK = 2**22  # entries of the rows' gradients held at a time
TINY = 1e-300  # a likelihood that is divided by
LEAST = 1e-6  # a posterior below it says no more
SHARPER = 3.0  # than the noisy posterior is the clean one that the fit starts from
VOLUME = 2.0  # weight of log |det T| beside a log-likelihood summed over rows
BOUNDED = 0.05  # joins T's singular values there: a matrix that is singular must not win, and no sign of one be a pole
SHRINKAGE = 3.0  # of uneven weights: free ones grow too sure, and what they are sure of looks like noise
FLOOR = 1e-3  # of T's logits, which else run away where an entry is zero
RARE = 1e-3  # a mistake that was never counted may still be made this often
ROUNDS, MEMORY, SETTLED = 300, 10, 1e-9  # of L-BFGS: steps at most, steps remembered, the gain that ends it

Flat = NDArray[np.float64]  # (p,)  weights of the classifier, then T's logits


@dataclass(frozen=True, eq=False)
class Refined(estimation.Estimated):
    """The matrix, and what its spread is computed from."""

    clean: transition.Matrix  # (n, c)  P(clean class | row), of the rows looked at
    design: transition.Matrix  # (n, c + 1)  what the classifier sees of them
    y: estimation.Labels  # (n,)


def refine(P: estimation.Posterior, y: estimation.Labels) -> Refined:
    """From the confident joint on; classes that it flags are flagged here."""
    every = -(-P.size // ROWS)
    P, y = P[::every], y[::every]
    start = estimation.confident_joint(P, y)
    X, W = _design(P)
    theta = np.concatenate([W.ravel(), _logits(start.T)])
    theta = _descend(lambda at: _objective(at, X, y, P.shape[1]), theta)
    W, T = _parts(theta, X.shape[1], P.shape[1])
    T[list(start.flagged)] = np.eye(len(T))[list(start.flagged)]
    return Refined(T, start.flagged, _softmax(X @ W), X, y)


def refutes(found: Refined, T: transition.Matrix) -> bool:
    """Whether the labels speak against T: by Akaike's criterion, as the fit frees every entry of it.

    The classifier is fitted anew under T, so that T is judged by all that it allows.
    """
    c, d = len(T), found.design.shape[1]
    logits, free = _logits(T), d * c

    def objective(W: Flat) -> tuple[float, Flat]:
        value, slope = _objective(np.concatenate([W, logits]), found.design, found.y, c)
        return value, slope[:free]

    start = np.zeros((d, c))
    start[:c] = SHARPER * np.eye(c)
    W, T = _parts(np.concatenate([_descend(objective, start.ravel()), logits]), d, c)
    gained = _likelihood(found.clean, found.T, found.y) - _likelihood(_softmax(found.design @ W), T, found.y)
    return gained > c * (c - 1)


def _likelihood(clean: transition.Matrix, T: transition.Matrix, y: estimation.Labels) -> float:
    """Of the labels, as a logarithm summed over rows."""
    return float(np.log(np.maximum((clean * T.T[y]).sum(axis=1), TINY)).sum())


def _logits(T: transition.Matrix) -> Flat:
    found: Flat = np.log(np.maximum(T, RARE)).ravel()
    return found


def _design(P: estimation.Posterior) -> tuple[transition.Matrix, transition.Matrix]:
    """Logarithms of the posterior, centred and scaled, with a one; and weights that make it sharper."""
    logs = np.log(np.maximum(P, LEAST)).astype(np.float64)  # (n, c)
    logs -= logs.mean(axis=1, keepdims=True)
    middle, scale = logs.mean(axis=0), max(float(logs.std()), LEAST)
    X = np.column_stack([(logs - middle) / scale, np.ones(len(P))])  # (n, c + 1)
    return X, SHARPER * np.vstack([scale * np.eye(P.shape[1]), middle])


def _parts(theta: Flat, d: int, c: int) -> tuple[transition.Matrix, transition.Matrix]:
    return theta[: d * c].reshape(d, c), _softmax(theta[d * c :].reshape(c, c))


def _softmax(logits: transition.Matrix) -> transition.Matrix:
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares: transition.Matrix = powers / powers.sum(axis=1, keepdims=True)
    return shares


def _objective(theta: Flat, X: transition.Matrix, y: estimation.Labels, c: int) -> tuple[float, Flat]:
    """The mean negative log-likelihood with its penalties, and its gradient."""
    n, d = X.shape
    W, T = _parts(theta, d, c)
    clean = _softmax(X @ W)  # (n, c)
    joint = clean * T.T[y]  # (n, c)  P(clean = k, the label that was given | row)
    likely = np.maximum(joint.sum(axis=1, keepdims=True), TINY)  # (n, 1)
    share = joint / likely  # (n, c)  P(clean = k | row and label)
    counted = _by_label(share, y, c)  # (c, c)
    lifted = T @ T.T + BOUNDED**2 * np.eye(c)  # (c, c)  its determinant is the volume's square
    A = theta[d * c :].reshape(c, c)
    value = -float(np.log(likely).mean()) + VOLUME / n * float(np.linalg.slogdet(lifted)[1]) / 2
    uneven = W[:-1] - np.eye(c) * np.trace(W[:-1]) / c  # (c, c)  how sure the classifier is is left free
    value += (SHRINKAGE * float(np.square(uneven).sum()) + FLOOR * float(np.square(A).sum())) / (2 * n)
    by_W = X.T @ (clean - share) / n  # (d, c)
    by_W[:-1] += SHRINKAGE * uneven / n
    by_T = VOLUME / n * np.linalg.solve(lifted, T)  # (c, c)
    by_A = T * (by_T - (by_T * T).sum(axis=1, keepdims=True))
    by_A -= (counted - counted.sum(axis=1, keepdims=True) * T) / n
    by_A += FLOOR * A / n
    return value, np.concatenate([by_W.ravel(), by_A.ravel()])


def _by_label(share: transition.Matrix, y: estimation.Labels, c: int) -> transition.Matrix:
    """Rows of `share` summed over those with each label, transposed: [clean class, label]."""
    return np.stack([np.bincount(y, weights=column, minlength=c) for column in share.T])


def _descend(objective: Callable[[Flat], tuple[float, Flat]], theta: Flat) -> Flat:
    """L-BFGS with backtracking (Nocedal and Wright, algorithm 7.5)."""
    steps: list[tuple[Flat, Flat]] = []  # how the place and the gradient moved
    value, slope = objective(theta)
    for _ in range(ROUNDS):
        way = -_scaled(slope, steps)
        down, size = float(way @ slope), 1.0 if steps else 1 / max(1.0, float(np.linalg.norm(slope)))
        for _ in range(20):
            moved, turned = objective(theta + size * way)
            if moved <= value + 1e-4 * size * down:
                break
            size /= 2
        else:
            return theta
        pair = (size * way, turned - slope)
        if pair[0] @ pair[1] > 1e-12:
            steps = [*steps, pair][-MEMORY:]
        gain, theta, value, slope = value - moved, theta + size * way, moved, turned
        if gain < SETTLED:
            return theta
    return theta


def _scaled(slope: Flat, steps: list[tuple[Flat, Flat]]) -> Flat:
    """The inverse curvature of the remembered steps times the gradient."""
    way, shares = slope.copy(), []
    for moved, turned in reversed(steps):
        share = float(moved @ way) / float(moved @ turned)
        way -= share * turned
        shares.append(share)
    if steps:
        moved, turned = steps[-1]
        way *= float(moved @ turned) / float(turned @ turned)
    for (moved, turned), share in zip(steps, reversed(shares), strict=True):
        way += (share - float(turned @ way) / float(moved @ turned)) * moved
    return way


def redrawn(found: Refined, replicates: int, *, rng: np.random.Generator) -> NDArray[np.float64]:
    """T_c of other draws of the rows (r, c, c), by one Newton step each; rows count a Poisson number of times."""
    c, d = len(found.T), found.design.shape[1]
    information = _penalties(c, d)  # (p, p)
    pull = np.zeros((len(information), replicates))  # (p, r)
    step = max(1, BLOCK // max(pull.shape))
    for start in range(0, len(found.y), step):
        scores = _scores(found, slice(start, start + step))  # (block, p)
        information += scores.T @ scores
        pull += scores.T @ (rng.poisson(1.0, (len(scores), replicates)) - 1.0)
    off = np.linalg.solve(information, pull)[d * c :].T.reshape(replicates, c, c)  # of T's logits
    redone: NDArray[np.float64] = found.T * (1 + off - (off * found.T).sum(axis=2, keepdims=True))
    return redone


def _penalties(c: int, d: int) -> transition.Matrix:
    """The curvature of the shrinkage (p, p): none where the objective has none, or T would seem too certain."""
    even = np.eye(c).ravel() / np.sqrt(c)  # how sure the classifier is, which trades against noise
    bent = FLOOR * np.eye(d * c + c * c)  # also where a shift of all logits changes nothing
    bent[: c * c, : c * c] += SHRINKAGE * (np.eye(c * c) - np.outer(even, even))
    return bent


def _scores(found: Refined, rows: slice) -> transition.Matrix:
    """The gradient of each row's log-likelihood by the weights and by T's logits (block, p)."""
    clean, X, y, c = found.clean[rows], found.design[rows], found.y[rows], len(found.T)
    joint = clean * found.T.T[y]
    share = joint / np.maximum(joint.sum(axis=1, keepdims=True), TINY)  # (block, c)
    by_W = X[:, :, None] * (share - clean)[:, None, :]  # (block, d, c)
    by_A = share[:, :, None] * (np.eye(c)[y][:, None, :] - found.T)  # (block, c, c)
    return np.concatenate([by_W.reshape(len(y), -1), by_A.reshape(len(y), -1)], axis=1)
