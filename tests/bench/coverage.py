"""How often the 95 % intervals of T_c, T_s and the rates hold the truth, on synthetic noise with a known T.

Classes are Gaussian clouds, posteriors come from a logistic regression cross-fitted on the noisy labels. `purity` is
the share of counted rows whose clean class the model has right: where it is low its errors pass for noise.
"""

import sys
import warnings

import numpy as np
from sklearn.linear_model import LogisticRegression

from c2s import estimation, intervals, noise, transition

DIMENSIONS, FOLDS, SEED = 8, 5, 1
SETTINGS = [  # rows, classes, distance of the clouds, noise, rate
    (1000, 4, 2.0, "symmetric", 0.2),
    (1000, 4, 2.0, "symmetric", 0.4),
    (4000, 4, 2.0, "symmetric", 0.4),
    (4000, 4, 1.0, "symmetric", 0.4),
    (4000, 4, 2.0, "pair_flip", 0.3),
    (4000, 4, 1.0, "pair_flip", 0.3),
    (4000, 10, 1.5, "symmetric", 0.4),
    (4000, 10, 1.0, "symmetric", 0.2),
    (10000, 10, 2.0, "symmetric", 0.4),
    (10000, 10, 2.0, "random_dominant_at", 0.4),
]


def draw(rows, classes, distance, T, rng):
    """Rows, their clean classes and their noisy labels."""
    centres = rng.normal(size=(classes, DIMENSIONS)) * distance
    clean = rng.integers(classes, size=rows)
    noisy = (T.cumsum(axis=1)[clean] < rng.random(rows)[:, None]).sum(axis=1).clip(0, classes - 1)
    return centres[clean] + rng.normal(size=(rows, DIMENSIONS)), clean, noisy


def cross_fit(x, y, classes, rng):
    """Out-of-sample posteriors, and the folds they come from."""
    folds, P = rng.integers(FOLDS, size=len(y)), np.zeros((len(y), classes))
    for k in range(FOLDS):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # sixty steps are enough, converged or not
            net = LogisticRegression(max_iter=60).fit(x[folds != k], y[folds != k])
        P[np.ix_(folds == k, net.classes_)] = net.predict_proba(x[folds == k])
    return P, folds


def matrix(kind, classes, rate):
    """The T of a kind of noise."""
    return getattr(noise, kind)(classes, rate)


def trial(rows, classes, distance, kind, rate, rng):
    """Which of the quantities lie inside their intervals, the mean width of T's, and the purity."""
    T = matrix(kind, classes, rate)
    x, clean, y = draw(rows, classes, distance, T, rng)
    P, folds = cross_fit(x, y, classes, rng)
    found = intervals.resampled(intervals.confident, P, y, folds=folds, rng=rng)
    priors = np.bincount(clean, minlength=classes)
    truth = [
        (found.matrix, T),
        (found.similarity, transition.similarity_from_class(T, priors)),
        (found.rates, np.array(transition.noise_rates(T, priors))),
    ]
    held = [float(((ends.low <= true) & (true <= ends.high)).mean()) for ends, true in truth]
    joint = estimation.confident_joint(P, y)
    width = float((found.matrix.high - found.matrix.low).mean())
    return [*held, width, float((joint.likely == clean)[joint.counted].mean())]


def main():
    """A table, a line a setting."""
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    print(f"seed {SEED}, {trials} trials a setting; share of true values inside their 95 % interval")
    print("rows   classes distance noise                    T_c    T_s    rates  width  purity")
    for rows, classes, distance, kind, rate in SETTINGS:
        rng = np.random.default_rng(SEED)
        held = np.mean([trial(rows, classes, distance, kind, rate, rng) for _ in range(trials)], axis=0)
        head = f"{rows:<6} {classes:<7} {distance:<8} {kind + ' ' + str(rate):<24}"
        print(head, " ".join(f"{value:.3f} " for value in held), flush=True)


if __name__ == "__main__":
    main()
