"""What a posterior adds up to, against the shares of the labels that it is a posterior of.

Over rows that a net has not seen the mean of P(label | x) is the share of the label, whatever the noise. A short
stage 1 on few rows of uneven classes has not learnt how rare a class is: it expects too much of it everywhere, and
counted as it is that passes for noise.
"""

import numpy as np

from c2s.matrix import estimation, transition

FAR = 0.06  # half the sum of differences; uneven classes of few rows .10 to .40, all other data measured up to .04
FITTED = 20_000  # rows that choose the weights
STEPS = 50  # of weighting; 20 are enough
LEAST = 1e-6  # share of a class


def of(y: estimation.Labels, classes: int) -> transition.Vector:
    """The shares of the labels."""
    found: transition.Vector = np.bincount(y, minlength=classes) / len(y)
    return found


def off(P: estimation.Posterior, y: estimation.Labels) -> float:
    """How much of the rows a posterior gives to other labels than there are."""
    return float(np.abs(P.mean(axis=0) - of(y, P.shape[1])).sum() / 2)


def matched(P: estimation.Posterior, y: estimation.Labels) -> estimation.Posterior:
    """The posterior with a weight on every class under which it adds up to the shares of the labels."""
    rows = np.linspace(0, len(y) - 1, min(FITTED, len(y))).astype(np.int64)
    sample, wanted = P[rows], np.maximum(of(y, P.shape[1]), LEAST)
    weights = np.ones(P.shape[1])
    for _ in range(STEPS):
        weights *= wanted / np.maximum(_weighted(sample, weights).mean(axis=0), LEAST)
    return _weighted(P, weights)


def _weighted(P: estimation.Posterior, weights: transition.Vector) -> estimation.Posterior:
    found: estimation.Posterior = P * weights
    found /= found.sum(axis=1, keepdims=True)
    return found
