"""The wish that this worker stops: one byte shared by the parent, who learns of it, and the children, who heed it."""

import contextlib
import mmap
import os
import signal
from collections.abc import Iterator
from types import FrameType

_flag = mmap.mmap(-1, 1)  # anonymous and shared: made before the pool forks
_told = False  # this process alone was asked to end


def begin() -> None:
    """Ask every process of this worker to give its job back."""
    _flag[0] = 1


def wanted() -> bool:
    """Whether the job in hand should be given back."""
    return _told or _flag[0] == 1


@contextlib.contextmanager
def heeding() -> Iterator[None]:
    """Take SIGTERM as the wish to give the job back first: some service managers signal every process at once."""
    global _told

    def hear(number: int, frame: FrameType | None) -> None:
        global _told
        _told = True

    before = signal.signal(signal.SIGTERM, hear)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
        if _told:
            _told = False
            os.kill(os.getpid(), signal.SIGTERM)
