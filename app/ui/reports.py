"""What a job tells, put together for a page: curves, phases, and the noise report where there is one."""

from dataclasses import dataclass
from typing import Any

import orjson
from markupsafe import Markup

from app.api import jobs, results, transitions
from app.api import reports as noise
from app.core import errors
from app.core.db import Database
from app.core.storage import Store
from app.ui import charts, words

SIDES = ("true", "given")
MOST_LINES = 8


@dataclass(frozen=True)
class Phase:
    """A part of a job: `done`, `now`, `failed` or `ahead`."""

    name: str
    standing: str


def phases(job: jobs.JobOut) -> list[Phase]:
    """Every phase of a training and where the job stands among them."""
    if job.state == "succeeded":
        return [Phase(name, "done") for name in words.PHASES]
    reached = (job.error.phase if job.error else None) or job.phase
    at = words.PHASES.index(reached) if reached in words.PHASES else -1
    here = "now" if job.state in ("running", "cancelling") else "failed" if job.error else "ahead"
    return [
        Phase(name, "done" if place < at else here if place == at else "ahead")
        for place, name in enumerate(words.PHASES)
    ]


def series(database: Database, job_id: str, metric: str) -> list[charts.Line]:
    """A metric over the epochs, one line for each training of the job."""
    found = results.lines(results.epochs(database, job_id), metric)
    return [charts.Line(name, points) for name, points in found.items()][:MOST_LINES]


def losses(database: Database, job_id: str) -> list[tuple[str, Markup]]:
    """Loss over the epochs, a picture for each stage: their losses differ in kind, so that one scale would hide one."""
    stages: dict[str, list[charts.Line]] = {}
    for line in series(database, job_id, "loss"):
        stages.setdefault("stage 1" if line.name.startswith("stage1") else "stage 2", []).append(line)
    return [(name, charts.curves(lines, f"Loss of {name}", narrow=True)) for name, lines in stages.items()]


def transition(database: Database, store: Store, job_id: str) -> dict[str, Any] | None:
    """The transition resource of a job; None: not estimated."""
    try:
        answer = transitions.show_transition(job_id, database=database, store=store, format="json")
    except errors.NotFound:
        return None
    found: dict[str, Any] = orjson.loads(answer.body)
    return found


def worth(database: Database, store: Store, job_id: str) -> dict[str, Any] | None:
    """What a job's report says of its classifier; None: there is none, or none yet."""
    try:
        answer = noise.show(job_id, database, store)
    except errors.NotFound:
        return None
    found: dict[str, Any] = orjson.loads(answer.body)
    return found


def heat(found: dict[str, Any]) -> Markup:
    """The picture of a job's matrix."""
    ends = found["interval"]["matrix"] if found["interval"] else None
    return charts.heat_map(found["matrix"], found["classes"], ends, sides=SIDES)
