"""What a transition matrix says about labels, in words and numbers that answers share."""

from collections.abc import Sequence

import numpy as np

from app.api import deps
from c2s.matrix import transition


class Rates(deps.Out):
    class_: float
    similarity: float


class Similarity(deps.Out):
    """T_s by name: 0 is dissimilar, 1 is similar; t01 is P(noisy similar | clean dissimilar)."""

    t00: float
    t01: float
    t10: float
    t11: float


class Learnability(deps.Out):
    t00_plus_t11: float
    rank: int
    condition_number: float | None  # None: the matrix is singular
    least_singular_value: float
    diagonally_dominant: bool
    warnings: list[str]


class Noise(deps.Out):
    """What a transition matrix says about the labels."""

    noise_rate: Rates
    similarity: Similarity
    reduces_noise: bool  # whether similarity labels are cleaner than class labels
    learnability: Learnability


class Advice(deps.Out):
    """A method by its name in a job's config, and why."""

    method: str
    reason: str


def about(T_c: transition.Matrix, priors: transition.Vector, classes: Sequence[str]) -> Noise:  # noqa: N803
    """What a matrix of these classes means under clean priors."""
    T_s = transition.similarity_from_class(T_c, priors)  # noqa: N806
    rates = transition.noise_rates(T_c, priors)
    learnt = transition.learnability(T_c, priors, classes)
    return Noise(
        noise_rate=Rates(class_=rates.class_, similarity=rates.similarity),
        similarity=Similarity(t00=T_s[0, 0], t01=T_s[0, 1], t10=T_s[1, 0], t11=T_s[1, 1]),
        reduces_noise=learnt.reduces_noise,
        learnability=Learnability(
            t00_plus_t11=learnt.t00_plus_t11,
            rank=learnt.rank,
            condition_number=learnt.condition_number if np.isfinite(learnt.condition_number) else None,
            least_singular_value=learnt.least_singular_value,
            diagonally_dominant=learnt.diagonally_dominant,
            warnings=list(learnt.warnings),
        ),
    )
