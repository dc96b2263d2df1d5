"""How many trainings run at once: byte locks on a nameless file, which vanish with the process that holds them.

The pool has one process more than there are slots, so that a large upload is read while all of them train.
"""

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Iterator

with tempfile.TemporaryFile() as _nameless:
    _file = os.dup(_nameless.fileno())  # for the life of the worker; made before the pool forks


@contextlib.contextmanager
def slot(count: int) -> Iterator[bool]:
    """Hold one of the slots for the time of the block; False: all are taken."""
    number = _take(count)
    try:
        yield number is not None
    finally:
        if number is not None:
            fcntl.lockf(_file, fcntl.LOCK_UN, 1, number)


def _take(count: int) -> int | None:
    for number in range(count):
        with contextlib.suppress(OSError):
            fcntl.lockf(_file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, number)
            return number
    return None
