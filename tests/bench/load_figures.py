"""The figures of a load run: what was aimed at, what was reached, and the memory of processes meanwhile."""

import contextlib
import threading
import time
from dataclasses import dataclass, field

import psutil

MB = 1e6


@dataclass(frozen=True)
class Figure:
    """A line of the table."""

    name: str
    run: str
    aimed: str
    reached: str
    held: bool
    unexpected: dict = field(default_factory=dict)  # outcomes that make the run itself fail

    def __str__(self):
        return f"{self.name:<4} {self.run:<46} {self.aimed:<34} {'held' if self.held else 'missed':<7} {self.reached}"


@dataclass(frozen=True)
class Asked:
    """How long to run what has a length."""

    seconds: float  # of L1 and L2; others take this or less
    idle_seconds: float


def rss(*processes):
    """Resident bytes of all; one that is gone has none."""
    total = 0
    for process in processes:
        with contextlib.suppress(psutil.Error):
            total += process.memory_info().rss
    return total


class Watch(threading.Thread):
    """Samples the memory of processes; `find` gives them anew each time."""

    def __init__(self, find, every=0.1):
        super().__init__(daemon=True)
        self.find, self.every, self.samples = find, every, []
        self.ended = threading.Event()

    def run(self):
        while not self.ended.wait(self.every):
            self.samples.append((time.monotonic(), rss(*self.find())))

    def __enter__(self):
        self.before = rss(*self.find())
        self.samples.append((time.monotonic(), self.before))
        self.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.join()

    def peak(self, since=0.0, until=float("inf")):
        return max((size for at, size in self.samples if since <= at <= until), default=0)

    @property
    def grown(self):
        """Megabytes above the first sample, at most."""
        return (self.peak() - self.before) / MB
