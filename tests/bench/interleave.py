"""Timings as ratios: two things measured in turns in one process, the median of many rounds."""

import statistics
import time
from collections.abc import Callable


def ratios(
    slow: Callable[[], object], fast: Callable[[], object], *, rounds: int
) -> tuple[float, float, float]:
    """(median of slow / fast, median seconds of slow, median seconds of fast), after one warm-up of each."""
    slow()
    fast()
    pairs = [(seconds(slow), seconds(fast)) for _ in range(rounds)]
    return (
        statistics.median(a / b for a, b in pairs),
        statistics.median(a for a, _ in pairs),
        statistics.median(b for _, b in pairs),
    )


def seconds(work: Callable[[], object]) -> float:
    """Wall seconds of one call."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
