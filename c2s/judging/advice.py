"""Which method suits a matrix, said before anything is trained, with the reason.

The rule was made by experiment: ten methods in 33 settings at one seed, and tried on eight others afterwards
(`tests/bench/advice.py` tells how often it is within a point of the best). What decides is whether wrong labels are
concentrated, so that knowing the matrix helps, and how many rows there are to learn from.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from c2s.matrix import transition

NEARLY_CLEAN = 0.02  # class noise below which no correction gains anything
CONCENTRATED = 0.6  # share of a class's wrong labels that name one other class
MUCH, MOST = (
    0.25,
    0.55,
)  # class noise from which a matrix is worth correcting for; above which no row can be trusted
FEW, FEWEST = 300, 4_500  # rows: a class, for pairs; in all, for methods that need not leave any out
PAIRED = 4  # classes, from which on similarity labels are cleaner than class labels (Theorem 2, sharpened)
HANDFUL, SEVERAL, MANY = 5, 10, 20  # classes
FEW_WORDS = (
    f"(under {FEWEST}) where labels are wrong: two nets that leave hard rows out learn more from them."
)


class Advice(NamedTuple):
    """A method by its name in a job's config, and why."""

    method: str
    reason: str


def advise(T_c: transition.Matrix, priors: ArrayLike, *, rows: int) -> Advice:
    """The method for labels that are wrong as T_c says."""
    c, rate = len(T_c), transition.noise_rates(T_c, priors).class_
    if rate < NEARLY_CLEAN:
        return Advice("ce", f"Only {rate:.1%} of the labels look wrong: a correction gains nothing.")
    share = concentration(T_c, priors)
    if c > 2 and share >= CONCENTRATED and rate >= MUCH:
        return _concentrated(T_c, priors, share, rows=rows)
    if rate >= MOST and c <= MANY:
        return Advice("apl", f"{rate:.0%} of the labels look wrong: a bounded loss follows them least.")
    return blind(c, rows=rows)


def concentration(T_c: transition.Matrix, priors: ArrayLike) -> float:
    """Of the wrong labels, the share that names the class which theirs is most often taken for."""
    pi, others = transition.shares(priors, len(T_c)), T_c * (1 - np.eye(len(T_c)))
    wrong = float((pi * others.sum(axis=1)).sum())
    return float((pi * others.max(axis=1)).sum()) / wrong if wrong > 0 else 0.0


def _concentrated(T_c: transition.Matrix, priors: ArrayLike, share: float, *, rows: int) -> Advice:
    """Wrong labels that mostly name one other class: correct for them, over pairs where pairs say enough."""
    rates = transition.noise_rates(T_c, priors)
    T_s = transition.similarity_from_class(T_c, priors)
    gap, each = float(T_s[1, 1] - T_s[0, 1]), rows / len(T_c)
    why = f"{share:.0%} of the wrong labels name one other class, so a correction by the matrix helps"
    if rates.similarity >= rates.class_ - transition.ROUNDING:
        return Advice("forward", f"{why}; similarity labels would not be cleaner than class labels.")
    if len(T_c) < PAIRED:
        return Advice("forward", f"{why}; pairs are advised from {PAIRED} classes on, these are {len(T_c)}.")
    if gap < transition.WEAK_GAP:
        return Advice("forward", f"{why}; noisy pairs say little: T_s11 - T_s01 is {gap:.2f}.")
    if each < FEW:
        return Advice("forward", f"{why}; {each:.0f} rows a class are few for pairs.")
    wrong = f"similarity labels are wrong in {rates.similarity:.1%} of the pairs, class labels in"
    return Advice("f-class2simi", f"{why}; {wrong} {rates.class_:.1%} of the rows.")


def blind(classes: int, *, rows: int) -> Advice:
    """The method while T_c is not known, or does not decide: by the counts alone."""
    if rows < FEWEST and classes <= SEVERAL:
        method = "jocor" if classes <= HANDFUL else "co-teaching"
        return Advice(method, f"{rows} rows are few {FEW_WORDS}")
    if classes > MANY:
        return Advice(
            "phuber-ce",
            f"With {classes} classes a matrix has too many entries to correct by, if noise is spread.",
        )
    return Advice("apl", "Noise that is spread over the classes is best met by a bounded loss.")
