"""What all jobs show of themselves, whatever they do."""

from typing import Any

from app.api import deps
from app.core import jobs


class Progress(deps.Out):
    """How far a running job is."""

    fraction: float | None = None
    phase: str | None = None
    epoch: int | None = None
    epochs: int | None = None
    metrics: dict[str, Any] | None = None
    eta_seconds: float | None = None
    elapsed_seconds: float | None = None


class Failure(deps.Out):
    """Why a job failed."""

    code: jobs.Code
    message: str
    phase: str | None
    retriable: bool
    log: list[str]  # the last lines
