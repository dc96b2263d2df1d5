"""How far a run is, as one number: every epoch that is planned counts, weighted by the rows it sees.

What only stage 1 tells to be needless counts while it lies ahead; once it is passed over it is no part of the whole.
"""

import time
from collections.abc import Sequence
from pathlib import Path

from c2s.trainings import Training

TRAINING = 0.97  # share of the whole; evaluation and packaging share the rest
PHASES = {
    "stage1": "stage1",
    "fold": "stage1",
    "joint": "transition",
    "search": "stage2",
    "stage2": "stage2",
}
SHARES = {"loading": 0.0, "evaluation": TRAINING, "packaging": 0.99}


def phase_of(step: str) -> str:
    """The phase of the job that a training of the pipeline belongs to."""
    return PHASES[step.partition("-")[0]]


class Plan:
    """The trainings of a run, in their order."""

    def __init__(self, planned: Sequence[Training]) -> None:
        self._planned = planned
        self._begun: set[str] = set()
        self._furthest = 0.0

    def take_up(self, folder: Path) -> None:
        """Begin where the states in a run's folder left off."""
        for one in self._planned:
            kept = [int(path.name.removeprefix("epoch-")) for path in (folder / one.name).glob("epoch-?????")]
            if kept:
                self.training(one.name, max(kept) / one.epochs)

    def phase(self, phase: str) -> float:
        """The fraction done when a phase of the job begins."""
        if phase in SHARES:
            return self._rise(SHARES[phase])
        phases = [phase_of(one.name) for one in self._planned]
        return self._rise(self._fraction(phases.index(phase)) if phase in phases else 0.0)

    def training(self, step: str, done: float) -> float:
        """The fraction done when `done` of one training's epochs are, between 0 and 1."""
        for place, one in enumerate(self._planned):
            if step in (one.name, one.otherwise):
                self._begun.add(one.name)
                return self._rise(self._fraction(place, done * one.seen))
        return self._furthest  # T is learnt jointly only where stage 1 turns out to waver

    def _fraction(self, place: int, seen: float = 0.0) -> float:
        before = sum(one.seen for one in self._planned[:place] if one.name in self._begun)
        return TRAINING * (before + seen) / (before + sum(one.seen for one in self._planned[place:]))

    def _rise(self, fraction: float) -> float:
        self._furthest = min(1.0, max(self._furthest, fraction))
        return self._furthest


class Clock:
    """Time since the start, and an estimate of what is left from the pace of this process."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._since: tuple[float, float] | None = (
            None  # when the pace is measured from, and how far it was then
        )
        self._warm = False

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._began

    def left(self, fraction: float) -> float | None:
        """Seconds that the rest takes; None before there is a pace."""
        now = time.monotonic()
        if self._since is None:  # a resumed run begins beyond zero
            self._since = (now, fraction)
        seconds, done = now - self._since[0], fraction - self._since[1]
        if not self._warm and done > 0:  # the first batches load and set up what the others find
            self._since, self._warm = (now, fraction), True
            return None
        return seconds * (1 - fraction) / done if done > 0 else None
