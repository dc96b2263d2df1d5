"""The settings that `method: auto` is measured on: synthetic clusters under many kinds of noise, and real sets.

A synthetic class is two clusters of a normal distribution; how far apart they are is drawn with the setting, so some
are easy and some overlap.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_digits

from c2s import streams
from c2s.matrix import noise
from c2s.paper import human, settings, sources

Array = npt.NDArray[Any]
WIDTH, TEST = 32, 3000
IMAGES = 5000  # of a set of images: ten methods on all of them take hours


@dataclass(frozen=True)
class World:
    """Rows under noisy labels, and clean ones to be judged by."""

    x: Array
    y: Array
    x_test: Array
    y_test: Array
    classes: int
    wrong: float  # share of the training labels
    kind: str = "vectors"
    net: str = "auto"


@dataclass(frozen=True)
class Synthetic:
    classes: int
    rows: int
    kind: str  # sym, pair, random, block, instance
    rate: float
    skewed: bool = False

    @property
    def name(self) -> str:
        skew = "-skewed" if self.skewed else ""
        return f"c{self.classes}-n{self.rows}-{self.kind}-{self.rate:g}{skew}"


SYNTHETIC = (
    Synthetic(2, 1000, "sym", 0.3),
    Synthetic(2, 4000, "random", 0.3, skewed=True),
    Synthetic(3, 2000, "pair", 0.4),
    Synthetic(3, 1000, "random", 0.4, skewed=True),
    Synthetic(4, 1500, "instance", 0.3),
    Synthetic(5, 1000, "sym", 0.4),
    Synthetic(5, 4000, "pair", 0.45),
    Synthetic(5, 3000, "sym", 0.6, skewed=True),
    Synthetic(8, 2000, "block", 0.4),
    Synthetic(10, 1000, "sym", 0.2),
    Synthetic(10, 5000, "sym", 0.6),
    Synthetic(10, 5000, "pair", 0.45),
    Synthetic(10, 5000, "random", 0.5, skewed=True),
    Synthetic(10, 3000, "sym", 0.0),
    Synthetic(10, 20000, "block", 0.45),
    Synthetic(10, 5000, "instance", 0.4),
    Synthetic(20, 4000, "sym", 0.4),
    Synthetic(20, 8000, "sym", 0.6),
    Synthetic(20, 8000, "pair", 0.4),
    Synthetic(20, 6000, "random", 0.4, skewed=True),
    Synthetic(20, 6000, "block", 0.5),
    Synthetic(50, 10000, "sym", 0.4),
    Synthetic(50, 10000, "pair", 0.3),
    Synthetic(100, 20000, "sym", 0.4),
    Synthetic(10, 50000, "sym", 0.5),
)


def matrix(kind: str, classes: int, rate: float) -> Array:
    """T_c of a setting; blocks are groups of two to four classes that are mistaken for each other alone."""
    match kind:
        case "sym":
            return noise.symmetric(classes, rate)
        case "pair":
            return noise.pair_flip(classes, rate)
        case "random":
            return noise.random_dominant_at(classes, rate)
        case _:
            size = 4 if classes % 4 == 0 else 2
            return np.kron(np.eye(classes // size), noise.symmetric(size, rate))


def synthetic(chosen: Synthetic, seed: int) -> World:
    rng = streams.numpy(seed, "world", chosen.name)
    c = chosen.classes
    apart = rng.uniform(0.35, 0.65) * (1 + 0.15 * np.log10(c))
    centres = rng.normal(size=(c, 2, WIDTH)) * apart
    priors = rng.dirichlet(np.full(c, 2.0)) * 0.8 + 0.2 / c if chosen.skewed else np.full(c, 1 / c)
    truth = rng.choice(c, chosen.rows + TEST, p=priors)
    x = centres[truth, rng.integers(0, 2, len(truth))] + rng.normal(size=(len(truth), WIDTH))
    x = x.astype(np.float32)
    clean, flips = truth[TEST:], streams.numpy(seed, "flips", chosen.name)
    if chosen.kind == "instance":
        y = noise.instance(x[TEST:], clean, chosen.rate, classes=c, rng=flips)
    else:
        y = noise.corrupt(clean, matrix(chosen.kind, c, chosen.rate), rng=flips)
    return World(x[TEST:], y, x[:TEST], truth[:TEST], c, float((y != clean).mean()))


def digits(name: str, seed: int) -> World:
    pixels, truth = load_digits(return_X_y=True)
    order = streams.numpy(seed, "digits").permutation(len(truth))
    x, y = pixels[order].astype(np.float32), truth[order].astype(np.int64)
    noisy = noise.corrupt(y[600:], settings.matrix(name, 10), rng=streams.numpy(seed, "flips"))
    return World(x[600:], noisy, x[:600], y[:600], 10, float((noisy != y[600:]).mean()))


def real(
    dataset: str, name: str, seed: int, *, folder: Path | None = None, first: int | None = None
) -> World:
    """A set of the paper harness, or its first rows, under labels that came with it or under noise that is added."""
    found = sources.load(dataset, folder)
    found = found if first is None else found.first(first)
    c = len(found.labels)
    added = (
        noise.corrupt(found.y, settings.matrix(name, c), rng=streams.numpy(seed, "flips"))
        if "-0." in name
        else None
    )
    y = found.given[name] if added is None else added
    # the net that colour images get by default takes hours here
    net = settings.recipe_of(dataset).net if found.kind == "image" else "auto"
    return World(found.x, y, found.x_test, found.y_test, c, float((y != found.y).mean()), found.kind, net)


Make = Callable[[int], World]


def every() -> dict[str, Make]:
    """All settings by name; the real ones need the paper's data folder."""
    made: dict[str, Make] = {one.name: lambda seed, one=one: synthetic(one, seed) for one in SYNTHETIC}
    pairs = [("labelme", human.MAJORITY), ("labelme", human.ONE_ANSWER), ("hausa", human.RULES)]
    pairs += [("news20", "sym-0.4"), ("news20", "sym-0.6"), ("news20", "asym-0.2")]
    made |= {f"{d} {n}": lambda seed, d=d, n=n: real(d, n, seed) for d, n in pairs}
    images = [("mnist", "sym-0.4"), ("mnist", "pair-0.45"), ("cifar10-subset", "worst")]
    made |= {
        f"{d} {n} first {IMAGES}": lambda seed, d=d, n=n: real(d, n, seed, first=IMAGES) for d, n in images
    }
    return made | {f"digits {n}": lambda seed, n=n: digits(n, seed) for n in ("sym-0.4", "pair-0.45")}
