"""Which labels are wrong, and what they should be: from the noisy-class posterior of rows that a net has not seen.

P is (n, c) and y is (n,), as for the estimators of T_c. What a label should be is the clean class given row and label,
q_k = P(clean = k | x, y) ~ f_k T[k, y], with f the clean posterior that T_c makes of P: a probability under the noise
is not one of being right. The order is by how far the best rival is ahead of the given label as stage 1 sees them, each
against what is usual for its class (a class that is hard for the net is not therefore mislabelled), in log-odds and in
probability, less q of the given label, which knows how often each class is wrong. Of the three only log-odds have no
bound: they lead among the most suspicious rows, where a wrong T would hurt, and q leads where the net is unsure.
"""

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from c2s.matrix import estimation, transition

FLOOR = 1e-9  # of a probability whose logarithm is taken
LEAST = 1e-6  # of a probability that is told: a power of a floor says nothing of a label
RIVAL = 0.5  # weight of the rival in the log-odds: between self-confidence (0) and the odds (1)
MARGIN, RIGHT = 2.0, 6.0  # weights of the margin and of q beside them, chosen on development seeds (D72)
RIDGE_ORDER, RIDGE = (
    0.2,
    0.03,
)  # keep an inverse of T from magnifying errors of P: in the order, in probabilities
EXPLAINED = 0.5  # of a suggestion's probability is left where noise depends on more than the class
UNKNOWN = 0.75  # the most of one against a label of whose noise nothing is known: below CORRECT_AT
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
    P: estimation.Posterior,
    y: estimation.Labels,
    T_c: transition.Matrix,
    *,
    witness: transition.Matrix | None = None,
    explained: bool = False,
    unknown: Sequence[int] = (),
) -> Judged:
    """Judge every label, in blocks of rows, by what T_c says of single ones (`witness`, as far as its rows carry it).

    `explained` is noise that the rows explain (`dependence`): T_c then says little about the clean class, and a
    suggestion is worth a person's look and no sure correction. So it is of a label of an `unknown` class, of whose
    noise nothing is known.
    """
    heard = T_c if witness is None else witness
    found = Judged(np.empty(len(y), np.int32), *(np.empty(len(y), np.float32) for _ in range(4)))
    usual = np.minimum(estimation.usual_confidence(P, y), 1.0)  # (c,)  a class without labels: 1
    steady, inverse = _inverse(T_c, RIDGE_ORDER), _inverse(T_c, RIDGE)
    temperature = _temperature(P, y, T_c, inverse)
    halfway = (
        1.0 if explained else temperature**0.5
    )  # all of it loses where labels go to one other class alone
    doubted = EXPLAINED if explained else 1.0
    most = np.ones(len(T_c))  # (c,)  of a suggestion against each label
    most[list(unknown)] = UNKNOWN
    for rows in _blocks(P):
        part, given, here = P[rows], y[rows], np.arange(len(y[rows]))
        right = _given_label(_tempered(_clean(part, steady), halfway), given, heard)[here, given]
        found.score[rows] = _suspicion(part, given, usual) - RIGHT * right
        fair = _given_label(_tempered(_clean(part, inverse), temperature), given, heard)  # (b, c)
        fair = np.maximum(fair, LEAST)
        best = fair.argmax(axis=1)
        found.suggested[rows] = best
        sure = np.minimum(fair[here, best] * doubted, most[given])
        found.probability[rows] = np.where(best == given, fair[here, best], sure)
        found.given_probability[rows] = fair[here, given]
        found.self_confidence[rows] = part[here, given]
    return found


def _suspicion(P: estimation.Posterior, y: estimation.Labels, usual: transition.Vector) -> transition.Vector:
    """How far the best rival is ahead of the given label, each against what is usual for its class."""
    odds = _ahead(np.log(P + FLOOR) - np.log(usual), y, RIVAL)
    return odds + MARGIN * _ahead(P - usual, y)


def _ahead(values: transition.Matrix, y: estimation.Labels, weight: float = 1.0) -> transition.Vector:
    """The best rival's value, weighted, less the given label's; `values` is used up."""
    here = np.arange(len(y))
    own = values[here, y]  # (b,)
    values[here, y] = -np.inf
    rival: transition.Vector = values.max(axis=1)
    return weight * rival - own


def _inverse(T_c: transition.Matrix, ridge: float) -> transition.Matrix:
    """Tikhonov's: f = P T' (T T' + ridge)^-1 is near P's clean posterior and stays so where T is nearly singular."""
    found: transition.Matrix = T_c.T @ np.linalg.inv(T_c @ T_c.T + ridge * np.eye(len(T_c)))
    return found


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
