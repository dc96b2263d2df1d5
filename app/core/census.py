"""What rows say about jobs, as figures for Prometheus: asked at most every other second, of indexes alone.

Every API process finds the same figures, so they are never added up: take the maximum over processes.
"""

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, get_args

import structlog
from sqlalchemy import func, literal, select, union_all
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from app.core.db import Database, now
from app.core.tables import IS_QUEUED, Job, State, Task

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

KEPT_SECONDS = 2.0
NAMES = {
    "c2s_database_up": "Whether the database answered this scrape.",
    "c2s_jobs": "Jobs by task and state.",
    "c2s_queue_depth": "Jobs that wait.",
    "c2s_queue_age_seconds": "Since the job that waits longest was made; 0 if none waits.",
}
log = structlog.get_logger("c2s.census")


@dataclass(frozen=True)
class Count:
    """How many jobs there are, and for how long the oldest one waits."""

    jobs: dict[tuple[str, str], int]  # by task and state
    ages: dict[str, float]  # by task


def take(tx: Session) -> Count:
    """Count the jobs and look at the oldest of those that wait."""
    grouped = select(Job.task, Job.state, func.count()).group_by(Job.task, Job.state)
    jobs = {(task, str(state)): count for task, state, count in tx.execute(grouped)}
    oldest = [  # ids sort by age, and the index ends with them
        select(
            select(literal(task), now() - Job.created_at)
            .where(Job.task == task, IS_QUEUED)
            .order_by(Job.id)
            .limit(1)
            .subquery()
        )
        for task in get_args(Task)
    ]
    return Count(jobs, {task: float(age) for task, age in tx.execute(union_all(*oldest))})


class Census:
    """A collector for Prometheus, shared by all scrapes of a process."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._found: Count | None = None
        self._until = 0.0

    def collect(self) -> "Iterator[Metric]":
        """The figures of now; without a database only that it is away."""
        from prometheus_client.core import GaugeMetricFamily

        found = self.count()
        yield GaugeMetricFamily("c2s_database_up", NAMES["c2s_database_up"], value=found is not None)
        if found is None:
            return
        jobs = GaugeMetricFamily("c2s_jobs", NAMES["c2s_jobs"], labels=("task", "state"))
        depth = GaugeMetricFamily("c2s_queue_depth", NAMES["c2s_queue_depth"], labels=("task",))
        age = GaugeMetricFamily("c2s_queue_age_seconds", NAMES["c2s_queue_age_seconds"], labels=("task",))
        for task in get_args(Task):
            for state in State:
                jobs.add_metric((task, state), found.jobs.get((task, state), 0))
            depth.add_metric((task,), found.jobs.get((task, State.queued), 0))
            age.add_metric((task,), max(0.0, found.ages.get(task, 0.0)))
        yield from (jobs, depth, age)

    def count(self) -> Count | None:
        """The jobs of the whole service, as they were at most two seconds ago; None without a database."""
        with self._lock:  # scrapers that come together wait for one look
            if time.monotonic() >= self._until:
                self._found = self._look()
                self._until = time.monotonic() + KEPT_SECONDS
            return self._found

    def _look(self) -> Count | None:
        try:
            with self._database.read() as tx:
                return take(tx)
        except SQLAlchemyError as exc:
            log.warning("census_failed", error=type(exc).__name__)
            return None
