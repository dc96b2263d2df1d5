"""T and the clean priors from what neighbours are called: the label of a row and those of its two nearest (HOC).

Rows so near each other are taken to have one clean class (Zhu et al. 2021), so their three labels are three draws
from its row of T. How often each triple occurs is all that is looked at; T and the priors are the ones under which
these triples are likeliest, found by expectation-maximisation. The authors fit the moments of the same counts by
gradient steps. Nothing is trained, and memory is bounded whatever the number of rows.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from c2s import streams
from c2s.matrix import estimation, transition

Features = NDArray[np.floating]  # (n, d)
Labels = NDArray[np.int64]  # (n,)

QUERIES, CROWD = 10_000, 20_000  # rows whose neighbours are looked for, and rows they are looked for among
BLOCK = 2**22  # distances, or posteriors of triples, held at a time
ROUNDS, SETTLED = 300, 1e-7  # of expectation-maximisation: at most, and the gain of a row that ends it
WORK, FEWEST = (
    3e10,
    20,
)  # multiplications that all rounds may cost, and rounds that many classes get all the same
START = 0.6  # share of right labels that it starts from: which class is which must be clear


@dataclass(frozen=True, eq=False)
class Consensus(estimation.Estimated):
    """The matrix and the clean priors that agree best with what neighbours are called."""

    priors: transition.Vector  # (c,)


def estimate(features: Features, y: Labels, classes: int, *, seed: int = 0) -> Consensus:
    """T and priors of a dataset; a class that no triple speaks for keeps the identity's row, flagged."""
    if len(y) < 3:
        nothing = transition.shares(np.bincount(y, minlength=classes), classes)
        return Consensus(np.eye(classes), tuple(range(classes)), nothing)
    rng = streams.numpy(seed, "hoc")
    crowd = np.sort(rng.permutation(len(y))[:CROWD])
    asked = rng.permutation(len(crowd))[:QUERIES]
    near = neighbours(features[crowd], asked)  # (q, 2)
    triples = y[crowd][np.column_stack([asked, near])]  # (q, 3)
    return likeliest(triples, classes)


def neighbours(features: Features, asked: NDArray[np.intp]) -> NDArray[np.intp]:
    """The two rows nearest to each asked one by the angle between them, itself left out."""
    rows = np.asarray(features, dtype=np.float32)
    rows = rows - rows.mean(axis=0)
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    found = np.empty((len(asked), 2), dtype=np.intp)
    step = max(1, BLOCK // len(rows))
    for start in range(0, len(asked), step):
        part = asked[start : start + step]
        alike = rows[part] @ rows.T  # (block, n)
        alike[np.arange(len(part)), part] = -np.inf
        found[start : start + step] = np.argpartition(alike, -2, axis=1)[:, -2:]
    return found


def likeliest(triples: NDArray[np.int64], classes: int) -> Consensus:
    """Expectation-maximisation for triples of labels (q, 3) that share a clean class."""
    distinct, counts = np.unique(np.sort(triples, axis=1), axis=0, return_counts=True)  # (t, 3), (t,)
    T = np.full((classes, classes), (1 - START) / max(1, classes - 1))
    np.fill_diagonal(T, START)
    pi = transition.shares(np.bincount(triples.ravel(), minlength=classes), classes)
    before = -np.inf
    affordable = WORK / (len(distinct) * classes**2)
    for _ in range(round(min(ROUNDS, max(FEWEST, affordable)))):
        joint, likelihood = _expected(distinct, counts, T, pi)  # (c, c)  labels of each clean class
        mass = joint.sum(axis=1, keepdims=True)
        T = np.where(mass > 0, joint / np.where(mass > 0, mass, 1), np.eye(classes))
        pi = mass[:, 0] / mass.sum()
        if likelihood - before < SETTLED:
            break
        before = likelihood
    return Consensus(T, tuple(int(k) for k in np.flatnonzero(mass[:, 0] <= 0)), pi)


def _expected(
    distinct: NDArray[np.int64], counts: NDArray[np.int64], T: transition.Matrix, pi: transition.Vector
) -> tuple[transition.Matrix, float]:
    """How often each clean class gives each label, and the mean log-likelihood of a triple, under T and the priors."""
    joint, total = np.zeros_like(T), 0.0
    step = max(1, BLOCK // len(T))
    for start in range(0, len(distinct), step):
        part, times = distinct[start : start + step], counts[start : start + step]
        likely = pi * T[:, part[:, 0]].T * T[:, part[:, 1]].T * T[:, part[:, 2]].T  # (block, c)
        evidence = np.maximum(likely.sum(axis=1), 1e-300)  # (block,)
        total += float(times @ np.log(evidence))
        share = likely * (times / evidence)[:, None]  # (block, c)
        called = np.zeros_like(likely)  # (block, c)  how often a triple names each label
        for label in part.T:
            called[np.arange(len(part)), label] += 1
        joint += share.T @ called
    return joint, total / float(counts.sum())
