"""What is counted too often to be written each time: uses of keys and predictions; in memory, then in SQL.

A process that dies loses the last seconds of its counts. A quota of predictions may be passed by what all processes
predict between two looks.
"""

import threading
import time
from collections import Counter

import structlog

from app.core import keys, quotas
from app.core.callers import BOOTSTRAP, Caller
from app.core.db import Database

PREDICTIONS_SECONDS, USES_SECONDS = 5.0, 60.0
log = structlog.get_logger("c2s.ledger")


class Ledger(threading.Thread):
    """Counts, and writes the counts every few seconds."""

    def __init__(self, database: Database) -> None:
        super().__init__(name="ledger", daemon=True)
        self._database, self._stop_asked = database, threading.Event()
        self._lock, self._writing = threading.Lock(), threading.Lock()
        self._uses: dict[str, float] = {}
        self._pending: Counter[str] = Counter()  # rows by project, not written yet
        self._totals: dict[tuple[str, str], int] = {}  # by project and day, when we last looked

    def used(self, key_id: str) -> None:
        """Note that a key was used now."""
        if key_id != BOOTSTRAP:
            self._uses[key_id] = time.time()

    def knows(self, caller: Caller) -> bool:
        """Whether the count of today is known, or of no matter."""
        today = caller.project_id, quotas.today()
        return caller.quotas.predictions_per_day is None or today in self._totals

    def learn(self, caller: Caller) -> None:
        """Read the count of today."""
        with self._database.read() as tx:
            total = quotas.used(tx, caller.project_id, "predictions")
        with self._lock:
            self._totals.setdefault((caller.project_id, quotas.today()), total)

    def predict(self, caller: Caller, rows: int) -> None:
        """Count rows that are about to be predicted, or refuse them."""
        limit, project = caller.quotas.predictions_per_day, caller.project_id
        with self._lock:
            total = self._totals.get((project, quotas.today()), 0)
            if limit is not None and total + self._pending[project] + rows > limit:
                raise quotas.exceeded("predictions_per_day", limit)
            self._pending[project] += rows

    def run(self) -> None:
        """Write until stopped, and once more; what fails is tried again."""
        uses_at = time.monotonic() + USES_SECONDS
        while not self._stop_asked.wait(PREDICTIONS_SECONDS):
            due = time.monotonic() >= uses_at
            self._try(uses=due)
            uses_at = time.monotonic() + USES_SECONDS if due else uses_at

    def _try(self, *, uses: bool) -> None:
        try:
            self.write(uses=uses)
        except Exception as exc:  # a database that is away: the counts are kept for the next time
            log.warning("counts_not_written", error=type(exc).__name__)

    def write(self, *, uses: bool = True) -> None:
        """Write what was counted since the last time."""
        with self._writing:  # or two would write the same counts
            self._write(uses)

    def _write(self, uses: bool) -> None:
        with self._lock:
            rows = {project: count for project, count in self._pending.items() if count}
            touched, self._uses = (self._uses, {}) if uses else ({}, self._uses)
        if not rows and not touched:
            return
        try:
            with self._database.begin() as tx:
                totals = {
                    project: quotas.add(tx, project, "predictions", count) for project, count in rows.items()
                }
                keys.touch(tx, touched)
        except Exception:
            self._uses = touched | self._uses
            raise
        with self._lock:
            self._pending.subtract(rows)
            self._totals = {(project, quotas.today()): total for project, total in totals.items()}

    def stop(self) -> None:
        """Write the last counts and stop."""
        self._stop_asked.set()
        self._try(uses=True)
