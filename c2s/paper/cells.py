"""The paper's numbers (Wu, Xia et al., ICML 2021): test accuracy in percent, mean and deviation over five trials.

A cell is found by (dataset, noise, method). Methods carry this library's names where it has them. Cells that
contradict their neighbours in print are marked doubtful: they are shown, and are no target.
"""

import re
from dataclasses import dataclass

NOISES = ("sym-0.2", "sym-0.4", "sym-0.6", "asym-0.2", "asym-0.4", "asym-0.6")
CLEAN = "clean"  # the ablation of the paper's last table: true labels
REAL = "real"  # Clothing1M*: the labels are wrong by themselves


@dataclass(frozen=True)
class Cell:
    """One printed accuracy; the Clothing1M* table prints no deviation."""

    mean: float
    deviation: float | None = None
    doubtful: bool = False


_NOISY = """
mnist
co-teaching   97.34±0.26 94.68±0.52 93.36±0.47 97.37±0.20 96.63±0.41 91.33±0.38
jocor         97.48±0.12 96.31±0.20 93.18±0.27 97.31±0.09 95.73±0.29 91.43±0.28
phuber-ce     98.65±0.18 98.17±0.15 97.63±0.36 98.73±0.09 98.36±0.25 97.37±0.41
apl           98.77±0.21 97.06±0.37 97.67±0.35 98.72±0.10 98.45±0.29 97.58±0.25
s2e           98.96±0.27 93.27±2.18 89.37±0.70 99.19±0.05 94.47±1.08 92.36±2.40
revision      98.92±0.09 98.42±0.50 98.10±0.37 98.97±0.06 98.58±0.19 98.21±0.19
reweight      98.78±0.16 98.26±0.22 97.02±0.58 98.62±0.19 98.12±0.31 96.98±0.29
forward       98.76±0.03 98.37±0.25 96.89±0.49 98.61±0.22 98.08±0.33 97.43±0.25
r-class2simi  99.04±0.06 98.87±0.06 98.40±0.17 99.06±0.05 98.75±0.08 98.23±0.20
f-class2simi  99.26±0.07 99.18±0.06 98.91±0.09 99.26±0.05 99.08±0.07 98.91±0.07
cifar10
co-teaching   88.92±0.45 85.97±1.02 75.97±1.33 89.14±0.36 84.77±1.08 76.07±1.27
jocor         88.46±0.25 85.19±0.75 77.03±0.92 88.96±0.70 85.19±0.58 75.76±1.31
phuber-ce     90.37±0.26 86.05±0.37 74.06±0.92 90.73±0.22 86.06±0.53 73.25±1.04
apl           89.07±0.92 85.77±0.84 70.06±1.06 89.97±0.19 85.60±0.91 72.33±1.68
s2e           90.04±1.22 82.05±1.95 57.96±4.70 90.12±0.97 83.16±1.58 64.77±3.06
revision      90.02±0.48 85.47±0.71 73.92±2.02 89.77±0.28 85.32±1.36 75.24±1.87
reweight      89.05±0.32 84.60±0.45 74.87±1.18 89.28±0.26 84.61±0.62 72.77±1.91
forward       89.63±0.20 87.08±0.31 73.24±1.33 90.03±0.41 86.64±0.71 77.41±0.43
r-class2simi  90.91±0.26 87.80±0.23 79.19±1.65 91.07±0.21 87.78±0.33 78.56±0.63
f-class2simi  91.38±0.19 88.22±0.19 79.45±0.53 91.24±0.27 87.79±0.36 79.05±0.56
cifar100
co-teaching   57.14±0.49 52.62±1.03 37.32±1.67 57.82±0.37 51.32±0.83 35.32±1.68
jocor         58.32±0.71 51.76±1.07 37.02±1.33 58.61±0.30 49.18±1.05 37.09±1.82
phuber-ce     57.90±0.31 52.36±0.77 37.93±0.86 57.33±0.71 51.29±0.96 36.03±1.34
apl           54.03±0.92 49.06±0.93 36.06±2.02 55.62±0.92 48.37±0.94 35.02±1.72
s2e           59.37±1.09 43.29±1.94 30.08±3.91 58.92±1.21 42.88±2.16 29.93±4.05
revision      59.62±0.97 53.26±0.84 35.82±2.06 58.77±0.93 52.72±1.38 37.72±1.75
reweight      49.59±0.74 39.72±0.57 22.79±1.35 48.87±0.96 36.65±0.90 17.24±1.97
forward       48.68±0.57 39.78±1.23 27.01±0.89 47.90±0.23 37.89±0.57 21.71±1.53
r-class2simi  55.45±0.55 50.38±0.49 35.57±0.75 54.95±0.65 47.56±0.72 34.82±0.58
f-class2simi  60.26±0.18 54.85±0.60 40.38±0.58 59.10±0.13 52.99±0.78 38.69±2.84
news20
co-teaching   55.32±0.28 51.09±1.06 47.07±0.83 55.29±0.41 53.08±0.26 45.63±0.75
jocor         52.21±0.70 49.84±0.92 48.83±0.43 55.58±0.27 49.35±0.62 46.21±0.73
phuber-ce     55.73±0.38 54.33±0.92 45.05±0.49 56.76±0.26 51.15±0.65 41.59±1.05
apl           56.91±0.21 53.12±1.21 43.60±1.28 56.11±0.23 50.93±1.05 43.60±1.28
s2e           57.93±0.37 47.16±1.32 28.53±5.04 54.89±1.92 50.42±1.71 30.67±3.12
revision      58.06±0.19 52.30±1.73 46.84±1.09 56.41±0.77 53.44±0.83 43.77±1.08
reweight      53.34±1.08 50.15±1.33 44.73±0.79 53.37±0.66 49.82±0.44 39.46±1.27
forward       57.30±0.32 53.94±0.42 46.91±1.48 53.58±0.54 49.90±1.44 42.55±3.81
r-class2simi  58.67±0.38 56.59±0.74 50.48±0.97 58.44±0.66 55.03±1.55 47.75±2.17
f-class2simi  58.27±0.47 56.70±1.13 50.18±0.89 58.46±0.68 54.92±1.66 46.07±3.54
"""

_CLEAN = {
    "mnist": "99.30±0.02 99.24±0.05",
    "cifar10": "94.03±0.14 94.05±0.27",
    "cifar100": "58.74±0.51 60.36±0.89",
    "news20": "59.86±0.39 59.74±0.20",
}

_CLOTHING = {
    "co-teaching": 74.70,
    "jocor": 74.98,
    "phuber-ce": 73.16,
    "apl": 58.93,
    "s2e": 72.30,
    "revision": 74.65,
    "forward": 73.88,
    "f-class2simi": 75.41,
    "reweight": 74.44,
    "r-class2simi": 75.76,
}

_DOUBTFUL = {
    ("news20", "sym-0.6", "apl"),  # printed twice, here and under asym-0.6
    ("news20", "asym-0.6", "apl"),
    ("news20", "sym-0.6", "f-class2simi"),  # bold although R-Class2Simi is higher
    ("mnist", "sym-0.4", "apl"),  # below its own accuracy under more noise
    ("cifar100", "sym-0.2", "revision"),  # above cross-entropy on clean labels
    ("cifar100", "sym-0.2", "s2e"),
}

Key = tuple[str, str, str]  # dataset, noise, method


def find(dataset: str, noise: str, method: str) -> Cell | None:
    """The paper's cell, or None where the paper has none."""
    return _TABLE.get((dataset, noise, method))


def methods(dataset: str, noises: tuple[str, ...] = NOISES) -> tuple[str, ...]:
    """The methods the paper has for a dataset under any of these noises, in its order."""
    return tuple(dict.fromkeys(m for d, noise, m in _TABLE if d == dataset and noise in noises))


def _number(text: str, key: Key) -> Cell:
    found = re.fullmatch(r"(\d+\.\d+)±(\d+\.\d+)", text)
    if found is None:
        raise ValueError(f"{text!r} is not a mean and a deviation")
    return Cell(float(found[1]), float(found[2]), key in _DOUBTFUL)


def _noisy() -> dict[Key, Cell]:
    table: dict[Key, Cell] = {}
    dataset = ""
    for line in _NOISY.strip().splitlines():
        name, *numbers = line.split()
        if not numbers:
            dataset = name
        for noise, text in zip(NOISES, numbers, strict=bool(numbers)):
            table[dataset, noise, name] = _number(text, (dataset, noise, name))
    return table


def _clean() -> dict[Key, Cell]:
    table: dict[Key, Cell] = {}
    for dataset, row in _CLEAN.items():
        ce, class2simi = (_number(text, (dataset, CLEAN, "")) for text in row.split())
        # with T = identity F-Class2Simi's loss is MCL's, so both stand beside the one printed number
        table |= {
            (dataset, CLEAN, "ce"): ce,
            (dataset, CLEAN, "mcl"): class2simi,
            (dataset, CLEAN, "f-class2simi"): class2simi,
        }
    return table


def _clothing() -> dict[Key, Cell]:
    return {("clothing1m", REAL, method): Cell(mean) for method, mean in _CLOTHING.items()}


_TABLE = _noisy() | _clean() | _clothing()
