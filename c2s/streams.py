"""Randomness is derived, never shared: each use has its own stream, named by (seed, what for, which epoch).

A stream depends on its name alone, so a run that resumes in the middle draws what the uninterrupted one draws.
"""

import hashlib

import numpy as np


def derive(seed: int, *name: str | int) -> int:
    """A 63-bit seed for the stream with this name."""
    text = "/".join([str(seed), *map(str, name)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def numpy(seed: int, *name: str | int) -> np.random.Generator:
    """The stream as a NumPy generator."""
    return np.random.default_rng(derive(seed, *name))
