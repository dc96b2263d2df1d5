"""How far a run is, as one number: every epoch that the config plans counts, weighted by the rows it sees."""

import time
from pathlib import Path

from c2s import config, members, trials

TRAINING = 0.97  # share of the whole; evaluation and packaging share the rest
PHASES = {
    "stage1": "stage1",
    "fold": "transition",
    "joint": "transition",
    "search": "stage2",
    "stage2": "stage2",
}
TWO_NETS = (config.CoTeaching, config.JoCoR, config.S2E)
SHARES = {"loading": 0.0, "evaluation": TRAINING, "packaging": 0.99}


def phase_of(step: str) -> str:
    """The phase of the job that a training of the pipeline belongs to."""
    return PHASES[step.partition("-")[0]]


class Plan:
    """The trainings that a resolved config asks for, in their order."""

    def __init__(self, chosen: config.TrainConfig) -> None:
        self._epochs = _epochs(chosen)
        self._weights = {step: epochs * _rows(step, chosen) for step, epochs in self._epochs.items()}
        self._total = sum(self._weights.values())
        self._furthest = 0.0

    def take_up(self, folder: Path) -> None:
        """Begin where the states in a run's folder left off."""
        for step, epochs in self._epochs.items():
            kept = [int(path.name.removeprefix("epoch-")) for path in (folder / step).glob("epoch-?????")]
            if kept:
                self.training(step, max(kept) / epochs)

    def phase(self, phase: str) -> float:
        """The fraction done when a phase of the job begins."""
        if phase in SHARES:
            return self._rise(SHARES[phase])
        names = list(self._weights)
        first = next((number for number, name in enumerate(names) if phase_of(name) == phase), None)
        before = 0.0 if first is None else sum(self._weights[name] for name in names[:first])
        return self._rise(TRAINING * before / self._total)

    def training(self, step: str, done: float) -> float:
        """The fraction done when `done` of one training's epochs are, between 0 and 1."""
        names = list(self._weights)
        if step not in self._weights:  # T is learnt jointly only where stage 1 turns out to waver
            return self._furthest
        before = sum(self._weights[name] for name in names[: names.index(step)])
        return self._rise(TRAINING * (before + done * self._weights[step]) / self._total)

    def _rise(self, fraction: float) -> float:
        self._furthest = min(1.0, max(self._furthest, fraction))
        return self._furthest


class Clock:
    """Time since the start, and an estimate of what is left from the pace of this process."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._first: tuple[float, float] | None = None

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._began

    def left(self, fraction: float) -> float | None:
        """Seconds that the rest takes; None before there is a pace."""
        now = time.monotonic()
        if self._first is None:  # a resumed run begins beyond zero
            self._first = (now, fraction)
        since, done = now - self._first[0], fraction - self._first[1]
        return since * (1 - fraction) / done if done > 0 else None


def _epochs(chosen: config.TrainConfig) -> dict[str, int]:
    first, second = chosen.stage1.epochs or 1, chosen.stage2.epochs or 1
    epochs = {"stage1": first}
    estimate = chosen.transition
    if isinstance(estimate, config.Estimate):
        if estimate.posteriors == "k-fold":
            epochs |= {f"fold-{number + 1}": first for number in range(estimate.folds)}
        if estimate.estimator == "volmin":
            epochs["joint"] = estimate.epochs or first
    if isinstance(chosen.method, config.Revision):
        epochs["stage2-reweight"] = second
        second = chosen.method.epochs or second
    if isinstance(chosen.method, config.S2E) and chosen.method.curve is None:
        epochs |= trials.epochs(chosen.method, second)
    if isinstance(chosen.method, config.Auto):  # not all of them, where rows are many or few a class
        return epochs | {f"stage2-{one.name}": second for one in members.EVERY}
    return epochs | {"stage2": second}


def _rows(step: str, chosen: config.TrainConfig) -> float:
    """The share of the rows that an epoch of a training sees; two nets see each of them twice."""
    estimate = chosen.transition
    if step.startswith("fold-") and isinstance(estimate, config.Estimate):
        return 1 - 1 / estimate.folds
    two = step.startswith(("search", "stage2")) and isinstance(chosen.method, TWO_NETS)
    return 2.0 if two else 1.0
