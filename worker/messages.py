"""What a child tells its supervisor: one JSON object a line; anything else on the channel is not a message."""

from typing import Annotated, Any, Literal

import pydantic
from pydantic import BaseModel, ConfigDict, Field

from app.core import jobs

LONGEST = 2**24  # bytes of a line; the report on a dataset with a thousand refused rows takes far less
Metrics = dict[str, float | None]


class Said(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Phase(Said):
    """A phase of the job begins."""

    type: Literal["phase"] = "phase"
    phase: str


class Progress(Said):
    """Where the job is."""

    type: Literal["progress"] = "progress"
    fraction: Annotated[float, Field(ge=0, le=1)]
    phase: str
    epoch: int
    epochs: int
    metrics: Metrics
    eta_seconds: float | None
    elapsed_seconds: float


class Cost(Said):
    """What an epoch took, for those who watch the machine; no part of the job's events."""

    seconds: float
    device: str
    memory_bytes: int


class Epoch(Said):
    """An epoch ended; `step` is the training that it belongs to, of which a phase may have several."""

    type: Literal["epoch"] = "epoch"
    phase: str
    step: str
    epoch: int
    epochs: int
    metrics: Metrics
    cost: Cost | None = None


class Checkpoint(Said):
    """A state is on the disk."""

    type: Literal["checkpoint"] = "checkpoint"
    phase: str
    step: str
    epoch: int
    bytes: int


class Estimated(Said):
    """T is estimated; stage 2 may still change it."""

    type: Literal["estimated"] = "estimated"
    found: dict[str, Any]  # of c2s.running.result.estimated


class Trained(Said):
    """The model folder is complete."""

    type: Literal["trained"] = "trained"


class Read(Said):
    """The dataset folder is complete."""

    type: Literal["read"] = "read"
    report: dict[str, Any]  # app.intake.report.Report
    shape: dict[str, Any]


class Refused(Said):
    """The file cannot be used."""

    type: Literal["refused"] = "refused"
    reasons: list[dict[str, Any]]  # app.intake.refusal.Reason


class Predicted(Said):
    """The file of predictions is complete."""

    type: Literal["predicted"] = "predicted"
    rows: int
    errors: int
    bytes: int
    sha256: str
    columns: list[str]
    memory_bytes: int


class Stopped(Said):
    """The child was asked to stop and did; it can go on where it stopped."""

    type: Literal["stopped"] = "stopped"


class Failed(Said):
    """The child cannot go on."""

    type: Literal["error"] = "error"
    code: jobs.Code
    message: str
    phase: str | None
    again: bool = False  # another attempt may go better


News = Phase | Progress | Epoch | Checkpoint | Estimated
Last = Trained | Read | Refused | Predicted | Stopped | Failed
Message = Annotated[News | Last, Field(discriminator="type")]
_message: pydantic.TypeAdapter[News | Last] = pydantic.TypeAdapter(Message)


def parse(line: bytes) -> News | Last | None:
    """The message of a line; None: there is none in it."""
    try:
        return _message.validate_json(line)
    except pydantic.ValidationError:
        return None
