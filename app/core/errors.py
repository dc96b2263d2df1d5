"""What the service refuses or fails to do, as classes; the class is the contract, the message is this occurrence.

ServiceError
├── BadRequest        400 malformed
├── Unauthorized      401
├── Forbidden         403 known, but not allowed to
├── NotFound          404, with NotYet for what will exist later
├── Conflict          409 the resource is in the wrong state
├── Moved             412 it is no longer what the caller saw
├── TooLarge          413 names the limit
├── Unsupported       415 media type or file format
├── Invalid           422 well-formed but wrong, with what is wrong where
├── Unconditional     428 the caller must say what it saw
├── TooMany           429 the queue is full, with quotas.Exceeded and ratelimits.Limited
├── Unavailable       503 try again, with Damaged for bytes that are not those that were stored
└── StoreFull         507
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

Fault = Mapping[str, Any]  # {pointer or line or entry, code, detail}


class ServiceError(Exception):
    """Anything that becomes a problem document."""

    status: ClassVar[int] = 500
    code: str = "internal"
    title: ClassVar[str] = "The service failed"
    retry_after: int | None = None

    def __init__(
        self,
        detail: str = "",
        *,
        code: str | None = None,
        errors: Sequence[Fault] = (),
        retry_after: int | None = None,
    ) -> None:
        super().__init__(detail or self.title)
        self.code = code or type(self).code
        self.errors = tuple(errors)
        self.retry_after = retry_after if retry_after is not None else type(self).retry_after


class BadRequest(ServiceError):
    status, code, title = 400, "bad_request", "The request is malformed"


class Unauthorized(ServiceError):
    status, code, title = 401, "unauthorized", "The key is missing or wrong"


class Forbidden(ServiceError):
    status, code, title = 403, "insufficient_scope", "The key is not allowed to do this"


class NotFound(ServiceError):
    status, code, title = 404, "not_found", "There is no such resource"


class NotYet(NotFound):
    code, title, retry_after = "not_ready_yet", "The resource does not exist yet", 2


class Conflict(ServiceError):
    status, code, title = 409, "conflict", "The resource is in the wrong state for this"


class Moved(ServiceError):
    status, code, title = 412, "precondition_failed", "The resource is no longer what you saw"


class TooLarge(ServiceError):
    status, code, title = 413, "body_too_large", "The request body is too large"


class Unsupported(ServiceError):
    status, code, title = 415, "unsupported_media_type", "This kind of body is not accepted here"


class Invalid(ServiceError):
    status, code, title = 422, "invalid", "The request is well-formed but cannot be used"


class Unconditional(ServiceError):
    status, code, title = 428, "precondition_required", "Say what you have seen of the resource"


class TooMany(ServiceError):
    status, code, title, retry_after = 429, "queue_full", "Too many requests or jobs", 30


class Unavailable(ServiceError):
    status, code, title, retry_after = 503, "unavailable", "The service cannot answer now", 2


class Damaged(Unavailable):
    title, retry_after = "The stored bytes are damaged", 300


class StoreFull(ServiceError):
    status, code, title, retry_after = 507, "storage_full", "The store has no space left", 300
