"""From an exception to one of the closed error codes and a sentence."""

from __future__ import annotations

import errno
import resource
from pathlib import Path
from typing import TYPE_CHECKING

from app.core import errors as service
from app.core import incoming
from c2s import errors

if TYPE_CHECKING:
    from app.core import jobs  # loads SQL, which a trainer has no use for

NEARLY_ALL = 0.9  # of the address space: what unwinding gave back is missing already
LONGEST = 1000  # characters of a message
# what native code says when memory ends; the last four under an address-space limit: the dynamic linker's, of Arrow
# and Python, whose new threads find no room for a stack, and of OpenBLAS, which then ends the process
STARVED = (
    "out of memory",
    "can't allocate memory",
    "annot allocate memory",
    "bad_alloc",
    "failed to map segment",
    "Failed to launch worker thread",
    "can't start new thread",
    "Memory allocation still failed",
)
NO_SPACE = ("No space left on device", "os error 28", "os error 122", "os error 27")
UNUSABLE = (errors.InvalidDataset, errors.InvalidConfig, errors.InvalidTransition)


def explain(exc: BaseException) -> tuple[jobs.Code, str]:
    """The code and the message of whatever ended a job."""
    code = classify(exc)
    ours = isinstance(exc, errors.C2SError | service.ServiceError)
    text = str(exc) if ours else f"{type(exc).__name__}: {exc}"
    return code, text[:LONGEST]


def foreseen(exc: BaseException) -> bool:
    """Whether its sentence says it all: what we refuse ourselves is no fault of ours to trace."""
    return isinstance(exc, errors.C2SError | service.ServiceError) and classify(exc) != "internal"


def passing(exc: BaseException) -> bool:
    """Whether the store failed, so that another attempt may go better."""
    return isinstance(exc, OSError) and exc.errno in incoming.PASSING


def classify(exc: BaseException) -> jobs.Code:
    """The code of an exception."""
    if isinstance(exc, (*UNUSABLE, service.Damaged)):
        return "invalid_dataset"
    if isinstance(exc, errors.InvalidModel) or getattr(exc, "code", None) == "model_damaged":
        return "invalid_model"
    if getattr(exc, "code", None) == "quota_exceeded":
        return "quota_exceeded"
    if isinstance(exc, errors.Diverged):
        return "diverged"
    if isinstance(exc, errors.NotLearnable):
        return "not_learnable"
    if _starved(exc):
        return "out_of_memory"
    if _full(exc):
        return "storage_full"
    return "internal"


def starved(last_words: list[str]) -> bool:
    """Whether a process that ended without a message ran out of memory: native code may only write that and abort."""
    return any(sign in line for line in last_words for sign in STARVED)


def _cornered() -> bool:
    """Whether this process has used up nearly all the address space that it may have."""
    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    if most == resource.RLIM_INFINITY:
        return False
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    return pages * resource.getpagesize() > NEARLY_ALL * most


def _starved(exc: BaseException) -> bool:
    if (
        isinstance(exc, MemoryError) or type(exc).__name__ == "OutOfMemoryError"
    ):  # torch's, which may not be loaded
        return True
    if isinstance(exc, OSError) and exc.errno == errno.ENOMEM:
        return True
    if isinstance(exc, SystemError):  # the interpreter failed and could not even say so
        return _cornered()
    native = isinstance(exc, RuntimeError | ImportError | OSError) or type(exc).__name__ == "ArrowException"
    return native and starved([str(exc)])


def _full(exc: BaseException) -> bool:
    if isinstance(exc, service.StoreFull) or (isinstance(exc, OSError) and exc.errno in incoming.FULL):
        return True
    # safetensors wraps the operating system's error in one of its own
    return type(exc).__name__ == "SafetensorError" and any(sign in str(exc) for sign in NO_SPACE)
