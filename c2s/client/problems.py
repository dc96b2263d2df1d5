"""What can go wrong between a client and its service, as classes; `code` is the service's own word for it.

ClientError
├── Unreachable           no answer, or none in time
├── Unusable              what was to be sent cannot be, before it was
├── TimedOut              a wait that took longer than it may; what was waited for goes on
├── JobFailed             a job that was waited for failed, with its error
├── JobCancelled          a job that was waited for was cancelled
├── DatasetRefused        a file that a worker read could not be used
└── Problem               the service said no
    ├── BadRequest        400
    ├── Unauthorized      401 no key, or a wrong one
    ├── Forbidden         403 the key may not do this
    ├── NotFound          404
    │   └── NotYet        it will exist later
    ├── Conflict          409 the resource is in the wrong state
    ├── Changed           412 it is no longer what was seen
    ├── TooLarge          413
    ├── Invalid           422, and 415: what was sent cannot be used; `faults` say where
    ├── TooMany           429 a queue, a rate or a quota
    └── Unavailable       5xx
"""

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

from c2s import errors
from c2s.client.calls import Answer

Fault = Mapping[str, Any]  # {pointer or parameter or line or entry, code, detail}


class ClientError(errors.C2SError):
    """Anything that a client could not do."""


class Unreachable(ClientError):
    """No answer; `sent` is false where the request cannot have arrived."""

    def __init__(self, message: str, *, sent: bool = True) -> None:
        super().__init__(message)
        self.sent = sent


class Unusable(ClientError):
    """Data or settings that no request can be made of."""


class TimedOut(ClientError):
    """A wait that took longer than it may; what was waited for goes on."""


class JobFailed(ClientError):
    """A job that was waited for failed."""

    def __init__(self, job_id: str, error: Mapping[str, Any]) -> None:
        self.job_id, self.error = job_id, error
        self.code: str = error.get("code", "internal")
        self.log: list[str] = error.get("log") or []
        super().__init__(f"{job_id} failed: {self.code}: {error.get('message', '')}")


class JobCancelled(ClientError):
    """A job that was waited for was cancelled."""

    def __init__(self, job_id: str) -> None:
        self.job_id = job_id
        super().__init__(f"{job_id} was cancelled")


class DatasetRefused(ClientError):
    """A file that a worker read could not be used, for the reasons in `faults`."""

    code = "invalid_dataset"

    def __init__(self, dataset_id: str, faults: Sequence[Fault]) -> None:
        self.dataset_id, self.faults = dataset_id, list(faults)
        why = "; ".join(str(fault.get("detail", "")) for fault in self.faults[:3])
        super().__init__(f"{dataset_id} was refused: {why}")


class Problem(ClientError):
    """A problem document (RFC 9457); its code is one of a closed set."""

    def __init__(self, answer: Answer) -> None:
        body = _document(answer)
        self.status = answer.status
        self.code: str = body.get("code", "unknown")
        self.detail: str = body.get("detail") or f"the service answered {answer.status}"
        self.faults: list[Fault] = body.get("errors") or []
        self.request_id: str | None = body.get("request_id") or answer.headers.get("x-request-id")
        self.retry_after = answer.retry_after
        self.said = f"{self.code}: {self.detail}"
        why = [fault for fault in self.faults[:3] if fault.get("detail")]
        more = [f"{where(one)}{one['detail']}" for one in why if str(one["detail"]) not in self.detail]
        super().__init__("; ".join([self.said, *more]))


class BadRequest(Problem):
    """400: the request is malformed."""


class Unauthorized(Problem):
    """401: the key is missing, wrong, expired or revoked; `advice` tells where one was looked for."""

    advice = ""


class Forbidden(Problem):
    """403: the key may not do this."""


class NotFound(Problem):
    """404: there is no such resource."""


class NotYet(NotFound):
    """404: the resource will exist later."""


class Conflict(Problem):
    """409: the resource is in the wrong state for this."""


class Changed(Problem):
    """412: the resource is no longer what was seen."""


class TooLarge(Problem):
    """413: the body is over a limit."""


class Invalid(Problem):
    """422 or 415: what was sent cannot be used."""


class TooMany(Problem):
    """429: a queue is full, a rate or a quota is used up."""


class Unavailable(Problem):
    """5xx: the service cannot answer now, or failed."""


KINDS: dict[int, type[Problem]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    412: Changed,
    413: TooLarge,
    415: Invalid,
    422: Invalid,
    429: TooMany,
}
SERVER = 500


def where(fault: Fault) -> str:
    """The place of a fault as a sentence begins with it, or nothing."""
    for name in ("pointer", "parameter", "entry"):
        if fault.get(name):
            return f"{fault[name]}: "
    return next((f"{name} {fault[name]}: " for name in ("line", "row") if fault.get(name) is not None), "")


def of(answer: Answer) -> Problem:
    """The problem in an answer."""
    kind = KINDS.get(answer.status, Unavailable if answer.status >= SERVER else Problem)
    if kind is NotFound and answer.retry_after is not None:
        kind = NotYet
    return kind(answer)


def _document(answer: Answer) -> dict[str, Any]:
    """What the body says; one that is not ours (a proxy's page) says nothing."""
    with contextlib.suppress(ValueError):
        found = answer.json()
        if isinstance(found, dict):
            return found
    return {}
