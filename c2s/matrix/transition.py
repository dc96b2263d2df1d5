"""The algebra of T_c and T_s: closed forms, exact where their input is exact.

Rows are clean, columns are noisy: T[i, j] = P(noisy=j | clean=i). Similarity index 0 = dissimilar, 1 = similar,
as in the paper. Priors are the clean ones, balanced where none are given; class counts serve as well as shares.
`check` stands at the border; the formulas trust what passed it. Where a kind of pair cannot exist (one class holds
all the mass, say) its row of T_s is the identity's.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from c2s import errors, naming

Matrix = NDArray[np.float64]  # (c, c), or (2, 2) for similarities
Vector = NDArray[np.float64]  # (c,)

TOLERANCE = 1e-6  # on row sums: a matrix printed with six digits still passes
ROUNDING = 1e-12  # below this two rates computed in float64 are the same
WEAK_GAP = 0.15  # T_s11 - T_s01 under which pair losses were seen to fail
HIDDEN_GAP = 0.01  # under which a noisy similarity label says nothing about the clean one
ILL_CONDITIONED = 100.0


class NoiseRates(NamedTuple):
    """How often a class label, and the similarity label of an independent pair, is wrong."""

    class_: float
    similarity: float


@dataclass(frozen=True)
class Learnability:
    """What T_c lets a method learn, with warnings in plain words; a singular T has condition number inf."""

    t00_plus_t11: float
    rank: int
    condition_number: float
    least_singular_value: float
    diagonally_dominant: bool
    reduces_noise: bool
    warnings: tuple[str, ...]


def check(T: ArrayLike) -> Matrix:
    """Copy T as float64, or raise `InvalidTransition` naming the first row that is no distribution."""
    try:
        copy = np.array(T, dtype=np.float64)
    except (TypeError, ValueError) as exc:
        raise errors.InvalidTransition("the matrix must be a square table of numbers") from exc
    if copy.ndim != 2 or copy.shape[0] != copy.shape[1] or len(copy) < 2:
        raise errors.InvalidTransition(f"the matrix must be square, of two classes or more, not {copy.shape}")
    for i, row in enumerate(copy):
        if (reason := _flaw(row)) is not None:
            raise errors.InvalidTransition(f"row {i} (counting from 0) {reason}")
    return copy


def _flaw(row: Vector) -> str | None:
    if not np.isfinite(row).all():
        return "holds a number that is not finite"
    if row.min() < 0 or row.max() > 1:
        return "holds a number outside [0, 1]"
    if abs(row.sum() - 1) > TOLERANCE:
        return f"sums to {row.sum():.8g} instead of 1"
    return None


def shares(weights: ArrayLike | None, c: int) -> Vector:
    """Priors or counts as c shares that sum to one; balanced for None."""
    if weights is None:
        return np.full(c, 1 / c)
    mass = np.asarray(weights, dtype=np.float64)
    if mass.shape != (c,) or not np.isfinite(mass).all() or (mass < 0).any() or mass.sum() <= 0:
        raise errors.InvalidConfig(f"priors must be {c} numbers, none negative and not all zero")
    pi: Vector = mass / mass.sum()
    return pi


def doubted(T: Matrix, rows: Vector) -> Matrix:
    """T as a witness on single labels: what so many rows of each class (c,) never showed is not thereby impossible.

    The mean of what T may be if each class had one row more, shared evenly by all labels (Perks's prior): Jeffreys's
    for two classes, and unlike that one no heavier where there are many. A class without rows says nothing.
    """
    found: Matrix = (rows[:, None] * T + 1 / len(T)) / (rows[:, None] + 1)
    return found


def _similarity(t11: float, t01: float) -> Matrix:
    t11, t01 = min(max(t11, 0.0), 1.0), min(max(t01, 0.0), 1.0)  # rounding may leave [0, 1] by a last digit
    return np.array([[1 - t01, t01], [1 - t11, t11]])


def similarity_from_class(T_c: Matrix, priors: ArrayLike | None = None) -> Matrix:
    """T_s of independent pairs: Theorem 1, with the priors of its remark carried into the denominators."""
    pi = shares(priors, len(T_c))
    joint = pi[:, None] * T_c  # (c, c)  P(clean = i, noisy = j)
    both_similar = np.square(joint).sum()  # ()  P(noisy similar, clean similar)
    noisy_similar = np.square(joint.sum(axis=0)).sum()  # ()  P(noisy similar)
    dissimilar = float((pi * (1 - pi)).sum())  # ()  P(clean dissimilar)
    t01 = float(noisy_similar - both_similar) / dissimilar if dissimilar > 0 else 0.0
    return _similarity(float(both_similar / np.square(pi).sum()), t01)


def distinct_pairs(T_c: Matrix, counts: ArrayLike) -> Matrix:
    """T_s of pairs of two different rows of a dataset with these clean class counts."""
    n = np.asarray(counts, dtype=np.float64)
    T_s = similarity_from_class(T_c, n)  # T_s01 is the same: rows of different classes are never the same row
    pairs = n * np.maximum(n - 1, 0)  # (c,)  ordered pairs inside each class
    t11 = float(pairs @ np.square(T_c).sum(axis=1) / pairs.sum()) if pairs.any() else 1.0
    return _similarity(t11, float(T_s[0, 1]))


def exact_form(T_c: Matrix) -> Matrix:
    """T T^T: f_i^T (T T^T) f_j is exactly P(noisy similar | x_i, x_j)."""
    return T_c @ T_c.T


def averaged_form(T_s: Matrix, c: int) -> Matrix:
    """The (c, c) matrix that stands for T T^T in the paper's equation (1)."""
    form = np.full((c, c), T_s[0, 1])
    np.fill_diagonal(form, T_s[1, 1])
    return form


def averaging_error(T_c: Matrix, priors: ArrayLike | None = None) -> float:
    """The largest entry by which equation (1) misses the exact form; zero for symmetric noise."""
    averaged = averaged_form(similarity_from_class(T_c, priors), len(T_c))
    return float(np.abs(exact_form(T_c) - averaged).max())


def mostly(T_c: Matrix) -> NDArray[np.intp]:
    """The label that each class is given most often (c,): its own unless another is given oftener."""
    own = np.arange(len(T_c))
    return np.where(T_c.max(axis=1) > T_c.diagonal(), T_c.argmax(axis=1), own)


def noise_rates(T_c: Matrix, priors: ArrayLike | None = None) -> NoiseRates:
    """N_c = 1 - sum pi_i T_ii and N_s = |pi|^2 + |T^T pi|^2 - 2 |diag(pi) T|^2."""
    pi = shares(priors, len(T_c))
    joint = pi[:, None] * T_c  # (c, c)
    similar = np.square(pi).sum() + np.square(joint.sum(axis=0)).sum() - 2 * np.square(joint).sum()
    return NoiseRates(max(0.0, 1 - float(np.trace(joint))), max(0.0, float(similar)))


def clean_priors(T_c: Matrix, noisy_priors: ArrayLike) -> Vector:
    """Solve T^T pi = noisy priors and bring pi back to the simplex; least squares where T is singular."""
    noisy = shares(noisy_priors, len(T_c))
    solution = np.linalg.lstsq(T_c.T, noisy, rcond=None)[0]  # (c,)
    clipped = np.maximum(solution, 0)
    # All zero only if T never yields any of the labels seen: T then says nothing about the priors.
    return clipped / clipped.sum() if clipped.sum() > ROUNDING else noisy


def similar_pairs(batch_size: int, priors: ArrayLike) -> float:
    """The expected number of similar pairs i < j in a batch of independent rows."""
    pi = shares(priors, np.size(priors))
    return batch_size * (batch_size - 1) / 2 * float(np.square(pi).sum())


def perturb(T_c: Matrix, eta: float, *, rng: np.random.Generator) -> Matrix:
    """Scale entries by 1 +- U[eta, eta + 0.1], clip at zero, renormalise rows (the paper's figure 5)."""
    if not (np.isfinite(eta) and eta >= 0):
        raise errors.InvalidConfig(f"the perturbation must be a number of at least 0, not {eta}")
    sign = rng.choice([-1.0, 1.0], size=T_c.shape)
    scaled = np.maximum(T_c * (1 + sign * rng.uniform(eta, eta + 0.1, size=T_c.shape)), 0)
    sums = scaled.sum(axis=1, keepdims=True)  # (c, 1)
    return np.where(sums > 0, scaled / np.where(sums > 0, sums, 1), T_c)


def learnability(
    T_c: Matrix, priors: ArrayLike | None = None, classes: Sequence[str] | None = None
) -> Learnability:
    """Whether T_s00 + T_s11 > 1 and T is invertible and dominant, and what to beware of, by the classes' names."""
    T_s = similarity_from_class(T_c, priors)
    rates = noise_rates(T_c, priors)
    singular = np.linalg.svd(T_c, compute_uv=False)  # (c,)  largest first
    rank = int((singular > singular[0] * len(T_c) * np.finfo(np.float64).eps).sum())
    condition = float(singular[0] / singular[-1]) if rank == len(T_c) else float("inf")
    weak_rows = np.flatnonzero(np.diag(T_c) <= _largest_other(T_c))
    return Learnability(
        t00_plus_t11=float(T_s[0, 0] + T_s[1, 1]),
        rank=rank,
        condition_number=condition,
        least_singular_value=float(singular[-1]),
        diagonally_dominant=len(weak_rows) == 0,
        reduces_noise=_reduces(rates),
        warnings=(
            *_pair_warnings(T_s, rates, len(T_c)),
            *_weak(weak_rows.tolist(), classes),
            *_class_warnings(rank, condition, c=len(T_c)),
        ),
    )


def _largest_other(T_c: Matrix) -> Vector:
    others = T_c.copy()
    np.fill_diagonal(others, -1.0)
    largest: Vector = others.max(axis=1)  # (c,)
    return largest


def _reduces(rates: NoiseRates) -> bool:
    return rates.similarity < rates.class_ - ROUNDING


def _pair_warnings(T_s: Matrix, rates: NoiseRates, c: int) -> list[str]:
    found = []
    if c < 4:
        found.append(f"With {c} classes, fewer than 4, similarity labels can be noisier than class labels.")
    if rates.class_ > ROUNDING and not _reduces(rates):
        found.append(
            f"Similarity labels are not cleaner than class labels: {rates.similarity:.3f} of them are wrong,"
            f" against {rates.class_:.3f}; methods on class labels, such as forward, do not pay for that."
        )
    gap = T_s[1, 1] - T_s[0, 1]
    if gap <= HIDDEN_GAP:
        found.append(
            f"Noisy pairs hide the classes: T_s11 - T_s01 is {gap:.3f}; pairs cannot be learnt from."
        )
    elif gap < WEAK_GAP:
        found.append(
            f"Noisy pairs say little about the classes: T_s11 - T_s01 is {gap:.3f}, under {WEAK_GAP}."
        )
    return found


def _weak(rows: list[int], classes: Sequence[str] | None) -> list[str]:
    """Classes by their names, or by number where they have none."""
    if not rows:
        return []
    names = naming.some([str(row) if classes is None else classes[row] for row in rows])
    names += " (from 0)" if classes is None else ""
    keep = f"Class {names} does not keep its" if len(rows) == 1 else f"Classes {names} do not keep their"
    return [f"{keep} own label more often than every other label."]


def _class_warnings(rank: int, condition: float, *, c: int) -> list[str]:
    found = []
    if rank < c:
        found.append(f"The matrix is singular (rank {rank} of {c}): some classes cannot be told apart by it.")
    elif condition > ILL_CONDITIONED:
        found.append(f"The matrix is ill-conditioned ({condition:.0f}): small errors in it are magnified.")
    return found
