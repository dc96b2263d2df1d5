"""Whether the processes of a pool still hear: a hint that nobody takes although one is free tells that none does.

A process that is killed while it waits for a task takes the lock of the queue in memory with it, and those that
replace it wait for ever. It is told by what lies unheard, not by who died: a process may end before anybody knew of
it, and one that did not hold the lock harms nothing.
"""

from collections.abc import Collection

PATIENCE = 10.0  # seconds; a free process takes a hint in milliseconds, on a busy machine in one or two


class Hearing:
    """Since when each hint has lain there."""

    def __init__(self) -> None:
        self._since: dict[str, float] = {}

    def lost(self, unheard: Collection[str], *, free: bool, now: float) -> bool:
        """Whether a hint has waited too long; the wait begins anew while every process is at work."""
        self._since = {hint: self._since.get(hint, now) if free else now for hint in unheard}
        return any(now - since > PATIENCE for since in self._since.values())
