"""Which method suits a matrix, said before anything is trained, with the reason.

The rules follow what the first experiments showed and were not tried on other data: pairs need four
classes, noise that leaves a gap between similar and dissimilar, and rows enough; few rows are better pruned.
"""

from typing import NamedTuple

from numpy.typing import ArrayLike

from c2s import transition

NEARLY_CLEAN = 0.02  # class noise below which no correction gains anything
FEW_ROWS = 300  # a class: fewer are learnt by heart, wrong labels included
FEWEST_CLASSES = 4  # for similarity labels to be cleaner than class labels (Theorem 2, sharpened)


class Advice(NamedTuple):
    """A method by its name in a job's config, and why."""

    method: str
    reason: str


def advise(T_c: transition.Matrix, priors: ArrayLike, *, rows: int) -> Advice:
    """The method for labels that are wrong as T_c says."""
    rates = transition.noise_rates(T_c, priors)
    T_s = transition.similarity_from_class(T_c, priors)
    gap = float(T_s[1, 1] - T_s[0, 1])
    if rates.class_ < NEARLY_CLEAN:
        return Advice("ce", f"Only {rates.class_:.1%} of the labels look wrong: a correction gains nothing.")
    if rows < FEW_ROWS * len(T_c):
        return _pruned(rows, len(T_c))
    if rates.similarity >= rates.class_ - transition.ROUNDING:
        return Advice(
            "forward",
            f"Similarity labels would be wrong in {rates.similarity:.1%} of the pairs, class labels are in"
            f" {rates.class_:.1%} of the rows: pairs do not help.",
        )
    if gap < transition.WEAK_GAP:
        return Advice("forward", f"Noisy pairs say little: T_s11 - T_s01 is {gap:.2f}.")
    return Advice(
        "f-class2simi",
        f"Similarity labels are wrong in {rates.similarity:.1%} of the pairs, class labels in {rates.class_:.1%}"
        " of the rows.",
    )


def blind(classes: int, *, rows: int) -> Advice:
    """The method while T_c is not known: by the counts alone."""
    if rows < FEW_ROWS * classes:
        return _pruned(rows, classes)
    if classes < FEWEST_CLASSES:
        return Advice(
            "forward", f"With {classes} classes similarity labels can be noisier than class labels."
        )
    return Advice("f-class2simi", "From four classes on similarity labels are cleaner than class labels.")


def _pruned(rows: int, classes: int) -> Advice:
    return Advice(
        "prune",
        f"{rows / classes:.0f} rows a class are few: leaving suspicious rows out did better there than"
        " correcting for all of them.",
    )
