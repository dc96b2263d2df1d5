"""From an exception to one of the closed error codes and a sentence."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

from app.core import errors as service
from c2s import errors

if TYPE_CHECKING:
    from app.core import jobs  # loads SQL, which a trainer has no use for

LONGEST = 1000  # characters of a message
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# what native code says when memory ends; the last is the dynamic linker's, under an address-space limit
STARVED = (
    "out of memory",
    "can't allocate memory",
    "annot allocate memory",
    "bad_alloc",
    "failed to map segment",
)
NO_SPACE = ("No space left on device", "os error 28", "os error 122", "os error 27")
UNUSABLE = (errors.InvalidDataset, errors.InvalidConfig, errors.InvalidTransition)


def explain(exc: BaseException) -> tuple[jobs.Code, str]:
    """The code and the message of whatever ended a job."""
    code = classify(exc)
    ours = isinstance(exc, errors.C2SError | service.ServiceError)
    text = str(exc) if ours else f"{type(exc).__name__}: {exc}"
    return code, text[:LONGEST]


def classify(exc: BaseException) -> jobs.Code:
    """The code of an exception."""
    if isinstance(exc, UNUSABLE):
        return "invalid_dataset"
    if isinstance(exc, errors.Diverged):
        return "diverged"
    if isinstance(exc, errors.NotLearnable):
        return "not_learnable"
    if _starved(exc):
        return "out_of_memory"
    if _full(exc):
        return "storage_full"
    return "internal"


def _starved(exc: BaseException) -> bool:
    if (
        isinstance(exc, MemoryError) or type(exc).__name__ == "OutOfMemoryError"
    ):  # torch's, which may not be loaded
        return True
    if isinstance(exc, OSError) and exc.errno == errno.ENOMEM:
        return True
    return isinstance(exc, RuntimeError | ImportError | OSError) and any(sign in str(exc) for sign in STARVED)


def _full(exc: BaseException) -> bool:
    if isinstance(exc, service.StoreFull) or (isinstance(exc, OSError) and exc.errno in FULL):
        return True
    # safetensors wraps the operating system's error in one of its own
    return type(exc).__name__ == "SafetensorError" and any(sign in str(exc) for sign in NO_SPACE)
