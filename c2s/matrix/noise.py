"""Label noise: the matrices T_c that experiments are made with, and the flips drawn from them.

Rows are clean, columns are noisy: T[i, j] = P(noisy=j | clean=i). "Asymmetric" is no name here, since the
literature gives it to three unlike things: `random_dominant` (this paper's), `pair_flip` and semantic maps.
"""

import math
from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from c2s import errors
from c2s.matrix import transition

Labels = NDArray[np.int64]  # (n,)
LabelsIn = NDArray[np.integer]
Features = NDArray[np.floating] | NDArray[np.integer]  # (n, ...)

# The authors' k by nominal rate, tuned for ten classes; even there the true rate differs (0.1 means 0.126).
AUTHORS_K: Mapping[float, float] = MappingProxyType(
    {0.1: 3.0, 0.2: 1.7, 0.3: 1.2, 0.4: 0.6, 0.5: 0.4, 0.6: 0.24}
)
AUTHORS_SEED = 1  # all their trials share one matrix

# Patrini et al. 2017; in CIFAR-10 truck -> automobile, bird -> airplane, cat <-> dog, deer -> horse.
MNIST_FLIPS: Mapping[int, int] = MappingProxyType({7: 1, 2: 7, 3: 8, 5: 6, 6: 5})
CIFAR10_FLIPS: Mapping[int, int] = MappingProxyType({9: 1, 2: 0, 3: 5, 5: 3, 4: 7})


def symmetric(c: int, rate: float) -> transition.Matrix:
    """Every other class is equally likely; the rate never counts the own class."""
    _check_classes(c)
    _check_rate(rate)
    T_c = np.full((c, c), rate / (c - 1))
    np.fill_diagonal(T_c, 1 - rate)
    return T_c


def pair_flip(c: int, rate: float) -> transition.Matrix:
    """Each class loses the rate to the next one, the last to the first."""
    return semantic(c, rate, flips={i: (i + 1) % c for i in range(c)})


def semantic(c: int, rate: float, *, flips: Mapping[int, int]) -> transition.Matrix:
    """The classes named in the map lose the rate to their look-alike, the others stay clean."""
    _check_classes(c)
    _check_rate(rate)
    T_c = np.eye(c)
    for clean, noisy in flips.items():
        if not (0 <= clean < c and 0 <= noisy < c) or clean == noisy:
            raise errors.InvalidConfig(f"{clean} -> {noisy} is no flip between two of {c} classes")
        T_c[clean, clean], T_c[clean, noisy] = 1 - rate, rate
    return T_c


def mnist_semantic(rate: float) -> transition.Matrix:
    """Digits that look alike: 7 -> 1, 2 -> 7, 3 -> 8, 5 <-> 6."""
    return semantic(10, rate, flips=MNIST_FLIPS)


def cifar10_semantic(rate: float) -> transition.Matrix:
    """Objects that look alike, as in Patrini et al. 2017."""
    return semantic(10, rate, flips=CIFAR10_FLIPS)


def authors_k(rate: float) -> float:
    """The authors' k for a nominal rate; 0.1 + 0.2 finds the entry of 0.3."""
    k = AUTHORS_K.get(round(rate, 6))
    if k is None:
        raise errors.InvalidConfig(f"the authors used the rates {', '.join(map(str, AUTHORS_K))}, not {rate}")
    return k


def random_dominant(c: int, *, k: float, seed: int = AUTHORS_SEED) -> transition.Matrix:
    """The paper's "asymmetric" noise: uniform entries, k * c added to the diagonal, rows normalised."""
    if not (math.isfinite(k) and k >= 0):
        raise errors.InvalidConfig(f"k must be a number of at least 0, not {k}")
    weights = _uniform(c, seed) + k * c * np.eye(c)
    T_c: transition.Matrix = weights / weights.sum(axis=1, keepdims=True)
    return T_c


def random_dominant_at(c: int, rate: float, *, seed: int = AUTHORS_SEED) -> transition.Matrix:
    """`random_dominant` with the k at which the class noise under balanced priors is the rate."""
    _check_rate(rate)
    _check_classes(c)
    if rate == 0:
        return np.eye(c)  # k is infinite
    uniform = _uniform(c, seed)
    own = np.diag(uniform)  # (c,)
    return random_dominant(c, k=_boost(uniform.sum(axis=1) - own, own, rate) / c, seed=seed)


def _uniform(c: int, seed: int) -> transition.Matrix:
    _check_classes(c)
    return np.random.RandomState(seed).random_sample((c, c))


def _boost(others: transition.Vector, own: transition.Vector, rate: float) -> float:
    """Bisect for k * c; the noise, the mean of others / (others + own + k * c), falls with it."""
    most = float((others / (others + own)).mean())
    if rate > most:
        raise errors.InvalidConfig(f"this matrix reaches a rate of {most:.4f} at most, not {rate}")
    low, high = 0.0, float(others.mean()) / rate
    for _ in range(200):  # more halvings than float64 can tell apart
        middle = (low + high) / 2
        if float((others / (others + own + middle)).mean()) > rate:
            low = middle
        else:
            high = middle
    return high


def corrupt(
    y: LabelsIn, T_c: transition.Matrix, *, rng: np.random.Generator | np.random.RandomState
) -> Labels:
    """Replace each label by a draw from its row of T_c; a `RandomState` repeats the authors' flips."""
    T_c = transition.check(T_c)
    _check_labels(y, len(T_c))
    T_c = T_c / T_c.sum(axis=1, keepdims=True)
    if isinstance(rng, np.random.RandomState):
        # One multinomial a label, in order: the authors' stream, which no vectorised draw reproduces.
        return np.array([rng.multinomial(1, T_c[label]).argmax() for label in y], dtype=np.int64)
    draws = rng.random(len(y))  # (n,)  row r depends on draw r and its own label only
    return _invert(y, T_c, draws)


def _invert(y: LabelsIn, T_c: transition.Matrix, draws: NDArray[np.float64]) -> Labels:
    cdf = T_c.cumsum(axis=1)  # (c, c)
    cdf /= cdf[:, -1:]  # ends in exactly 1, above every draw
    noisy = np.empty(len(y), dtype=np.int64)
    for label in range(len(T_c)):
        rows = np.flatnonzero(y == label)
        noisy[rows] = np.searchsorted(cdf[label], draws[rows], side="right")
    return noisy


def exact_symmetric(y: LabelsIn, classes: int, rate: float, *, rng: np.random.Generator) -> Labels:
    """Flip exactly floor(rate * n_i) labels of each class i, each to another class at random."""
    _check_classes(classes)
    _check_rate(rate)
    _check_labels(y, classes)
    noisy = y.astype(np.int64)
    for label in range(classes):
        rows = np.flatnonzero(y == label)
        chosen = rng.permutation(rows)[: math.floor(rate * len(rows) + 1e-9)]  # 0.29 * 100 is 28.999...
        noisy[chosen] = (label + rng.integers(1, classes, size=len(chosen))) % classes
    return noisy


def instance(x: Features, y: LabelsIn, rate: float, *, classes: int, rng: np.random.Generator) -> Labels:
    """Noise that depends on the input (Xia et al. 2020): a row's features choose where its label may go.

    Each row has a flip rate of its own, from a normal truncated evenly around the rate so that the mean stays
    there; a random projection of its class, softmaxed with that class left out, spreads it over the others.
    """
    _check_classes(classes)
    _check_rate(rate)
    _check_labels(y, classes)
    if len(x) != len(y):
        raise errors.InvalidDataset(f"{len(x)} rows of features for {len(y)} labels")
    flat = x.reshape(len(x), math.prod(x.shape[1:]))  # (n, d); -1 would fail without rows
    sample = flat[:: max(1, len(flat) // 10_000)].astype(np.float64)  # a deviation copies what it is taken of
    mean, spread = (sample.mean(), sample.std() or 1.0) if sample.size else (0.0, 1.0)
    flips = rng.random(len(y)) < _flip_rates(rate, len(y), rng)  # (n,)
    noisy = y.astype(np.int64)
    for label in range(classes):
        projection = rng.standard_normal((flat.shape[1], classes))  # (d, c)
        rows = np.flatnonzero(flips & (y == label))
        scores = (flat[rows].astype(np.float64) - mean) / spread @ projection  # (m, c)
        scores[:, label] = -np.inf
        # The largest of scores + Gumbel noise is a draw from their softmax.
        noisy[rows] = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    return noisy


def _flip_rates(rate: float, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
    reach = min(rate, 1 - rate)
    spread = min(0.1, reach / 2)  # 0.1 as published, less where it would leave [0, 1]
    rates = rng.normal(rate, spread, size=n)  # (n,)
    while (outside := np.abs(rates - rate) > reach).any():
        rates[outside] = rng.normal(rate, spread, size=int(outside.sum()))
    return rates


def _check_rate(rate: float) -> None:
    if not 0 <= rate <= 1:
        raise errors.InvalidConfig(f"a noise rate lies in [0, 1], not {rate}")


def _check_classes(c: int) -> None:
    if c < 2:
        raise errors.InvalidConfig(f"noise needs two classes or more, not {c}")


def _check_labels(y: LabelsIn, c: int) -> None:
    if y.ndim != 1 or not np.issubdtype(y.dtype, np.integer):
        raise errors.InvalidDataset("labels must be one row of whole numbers")
    if len(y) and not (y.min() >= 0 and y.max() < c):
        raise errors.InvalidDataset(f"labels must lie in 0..{c - 1}, not {y.min()}..{y.max()}")
