"""The walls around a process that reads untrusted bytes; set before anything heavy is loaded."""

import ctypes
import math
import resource
import sys

from app.core import guard
from app.intake.options import Limits

FILES = 64  # open at once
NO_NEW_PRIVILEGES = 38  # prctl's number

ENVIRONMENT = {
    "LANG": "C.UTF-8",
    "OMP_NUM_THREADS": "1",  # thread stacks and arenas would use up the address space
    "OPENBLAS_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "2",
    "ARROW_DEFAULT_MEMORY_POOL": "system",  # the others reserve address space ahead
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYDANTIC_DISABLE_PLUGINS": "__all__",  # else it asks every installed distribution whether it is one
}


def apply(limits: Limits, parent: int) -> None:
    """Bind this process for the rest of its life."""
    seconds = math.ceil(limits.seconds)
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_NOFILE, FILES)
    _limit(resource.RLIMIT_FSIZE, limits.bytes)  # Python ignores the signal: writing fails with EFBIG
    _limit(resource.RLIMIT_CPU, seconds, seconds + 5)  # SIGXCPU first, so that the parent sees why
    _limit(resource.RLIMIT_AS, limits.memory_bytes)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    guard.die_with_parent(parent)


def _limit(what: int, soft: int, hard: int | None = None) -> None:
    most = resource.getrlimit(what)[1]
    wanted = (soft, soft if hard is None else hard)
    if most != resource.RLIM_INFINITY:
        wanted = (min(wanted[0], most), min(wanted[1], most))
    resource.setrlimit(what, wanted)
