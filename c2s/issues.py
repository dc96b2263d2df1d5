"""Which labels are wrong, and what they should be: from the noisy-class posterior of rows that a net has not seen.

P is (n, c) and y is (n,), as for the estimators of T_c. What a label should be is the clean class given row and label,
q_k = P(clean = k | x, y) ~ f_k T[k, y], with f the clean posterior that T_c makes of P: a probability under the noise
is not one of being right. The order is by the odds of the given label against its best rival as stage 1 sees them, less
q of the given label: odds outweigh it, so that a wrong T cannot spoil the order; where stage 1 knows the classes T can
be trusted, and their margin, which q outweighs, stands for the odds.
"""

from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from c2s import estimation, transition

FLOOR = 1e-9  # of a probability whose logarithm is taken
RIVAL = 0.5  # weight of the rival in the order: between self-confidence (0) and the odds (1)
APART, WAVERING = (
    0.1,
    0.4,
)  # of two counts of T_c, and of stage 1: above, T counts the model's errors as noise
BLOCK = 2**20  # posterior entries worked on at a time
TEMPERATURES = (
    1.0,
    0.85,
    0.7,
    0.6,
    0.5,
    0.42,
    0.35,
    0.3,
    0.25,
)  # of f; stage 1 stops early and is seldom too sure
FITTED = 20_000  # rows that choose one
Numbers = NDArray[np.float32]
Places = NDArray[np.int32]
Decision = Literal["kept", "corrected", "review"]
DECISIONS: tuple[Decision, ...] = ("kept", "corrected", "review")
SETTLED = (None, "gold", "reviewed")  # who has settled a row before it was judged
CORRECT_AT, KEEP_AT = (
    0.8,
    0.5,
)  # probability of the suggested label that corrects, of the given one that keeps


class Judged(NamedTuple):
    """What the posterior says of every row; the most suspicious has the highest score."""

    suggested: Places  # (n,)  the likeliest clean class given row and label
    probability: Numbers  # (n,)  of the suggested class
    given_probability: Numbers  # (n,)  P(clean = the given class | row, label)
    self_confidence: Numbers  # (n,)  P(noisy = the given class | row)
    score: Numbers  # (n,)


def trusts(P: estimation.Posterior, y: estimation.Labels) -> bool:
    """Whether T_c can be told from the model's errors: counting sure rows or all gives the same, and few waver."""
    sure, every = estimation.confident_joint(P, y).T, estimation.counts(P, y).T
    apart = float(np.abs(sure - every).sum(axis=1).mean())
    return apart < APART and estimation.ambiguity(P) < WAVERING


def judge(
    P: estimation.Posterior, y: estimation.Labels, T_c: transition.Matrix, *, trusted: bool = False
) -> Judged:
    """Judge every label, in blocks of rows."""
    found = Judged(np.empty(len(y), np.int32), *(np.empty(len(y), np.float32) for _ in range(4)))
    inverse = np.linalg.pinv(T_c).astype(np.float64)
    temperature = _temperature(P, y, T_c, inverse)
    for rows in _blocks(P):
        part = _judge(P[rows], y[rows], T_c, inverse, temperature=temperature, trusted=trusted)
        for target, value in zip(found, part, strict=True):
            target[rows] = value
    return found


def _judge(
    P: estimation.Posterior,
    y: estimation.Labels,
    T_c: transition.Matrix,
    inverse: transition.Matrix,
    *,
    temperature: float,
    trusted: bool,
) -> Judged:
    here = np.arange(len(y))
    own = P[here, y]  # (b,)
    rivals = np.array(P)
    rivals[here, y] = 0.0
    rival = rivals.max(axis=1)
    score = rival - own if trusted else RIVAL * np.log(rival + FLOOR) - np.log(own + FLOOR)
    clean = _clean(P, inverse)
    score -= _given_label(clean, y, T_c)[here, y]
    fair = _given_label(_tempered(clean, temperature), y, T_c)  # (b, c)
    best = fair.argmax(axis=1)
    return Judged(
        best.astype(np.int32),
        fair[here, best].astype(np.float32),
        fair[here, y].astype(np.float32),
        own.astype(np.float32),
        score.astype(np.float32),
    )


def _clean(P: estimation.Posterior, inverse: transition.Matrix) -> transition.Matrix:
    """The clean posterior f with f T = P, or what is nearest to one of it."""
    clean = np.maximum(P @ inverse, FLOOR)  # (b, c)
    clean /= clean.sum(axis=1, keepdims=True)
    return clean


def _tempered(clean: transition.Matrix, temperature: float) -> transition.Matrix:
    sharp: transition.Matrix = clean ** (1 / temperature)
    sharp /= sharp.sum(axis=1, keepdims=True)
    return sharp


def _given_label(clean: transition.Matrix, y: estimation.Labels, T_c: transition.Matrix) -> transition.Matrix:
    """P(clean = k | x, y); a label that T holds for impossible says nothing against f."""
    joint = clean * T_c.T[y]  # (b, c)  P(clean = k, noisy = y | x)
    total = joint.sum(axis=1, keepdims=True)
    return np.where(total > FLOOR, joint / np.maximum(total, FLOOR), clean)


def _temperature(
    P: estimation.Posterior, y: estimation.Labels, T_c: transition.Matrix, inverse: transition.Matrix
) -> float:
    """The temperature of f under which the labels are likeliest through T_c."""
    rows = np.linspace(0, len(y) - 1, min(FITTED, len(y))).astype(np.int64)
    clean, given = _clean(P[rows], inverse), y[rows]
    here = np.arange(len(rows))
    loss = [-np.log((_tempered(clean, t) @ T_c)[here, given] + FLOOR).mean() for t in TEMPERATURES]
    return TEMPERATURES[int(np.argmin(loss))]


def settle(
    judged: Judged,
    y: estimation.Labels,
    *,
    gold: estimation.Labels | None = None,
    reviewed: NDArray[np.bool_] | None = None,
) -> tuple[Judged, NDArray[np.int8]]:
    """The same with people's word on rows they have settled, and a place in SETTLED for each row.

    A gold label is suggested against a given one that differs, before all others; what agrees with gold, or was
    decided in an earlier review, is the last to be suspected.
    """
    settled = np.zeros(len(y), np.int8)
    known = y.astype(np.int32)  # a label that was reviewed is what it was decided to be
    if reviewed is not None:
        settled[reviewed] = SETTLED.index("reviewed")
    if gold is not None:
        settled[gold >= 0] = SETTLED.index("gold")
        known = np.where(gold >= 0, gold, known).astype(np.int32)
    rows = np.flatnonzero(settled)
    if not len(rows):
        return judged, settled
    told = Judged(judged.suggested.copy(), *(part.copy() for part in judged[1:]))
    agrees = known[rows] == y[rows]
    told.suggested[rows], told.probability[rows], told.given_probability[rows] = known[rows], 1, agrees
    told.score[rows] = np.where(agrees, judged.score.min() - 1, judged.score.max() + 1)
    return told, settled


def order(judged: Judged) -> NDArray[np.int64]:
    """Row numbers, the most suspicious first; of equals the earlier."""
    return np.argsort(-judged.score, kind="stable")


def decide(
    given: Places, judged: Judged, *, correct_at: float = CORRECT_AT, keep_at: float = KEEP_AT
) -> NDArray[np.int8]:
    """A place in DECISIONS for each row: corrected where the other class is sure, for review where nothing is."""
    other = judged.suggested != given
    corrected = other & (judged.probability >= correct_at)
    review = ~corrected & (judged.given_probability < keep_at)
    return np.where(corrected, 1, np.where(review, 2, 0)).astype(np.int8)


def _blocks(P: estimation.Posterior) -> Iterator[slice]:
    step = max(1, BLOCK // P.shape[1])
    return (slice(start, start + step) for start in range(0, len(P), step))
