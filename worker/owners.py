"""Who holds a job, such that others can prove its death: host, boot, process namespace, process and its start.

A process of another boot or namespace cannot be judged from here, and then only its lease decides. A dead one can:
numbers are given again, starts are not.
"""

import functools
import os
import socket
from pathlib import Path

LONGEST_HOST = 64
STATE, START = 0, 19  # fields of /proc/PID/stat that follow the name


def me() -> str:
    """This process, as rows name it."""
    return f"{place()}:{os.getpid()}:{_facts(os.getpid())[1]}"


@functools.cache
def place() -> str:
    """Where processes can be judged from here; it ends with `?` where none can."""
    host = socket.gethostname()[:LONGEST_HOST].replace(":", "-")
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{host}:{boot}:{Path('/proc/self/ns/pid').readlink()}".replace(":[", "-").rstrip("]")
    except OSError:  # not Linux
        return f"{host}:?"


def dead(owner: str) -> bool:
    """Whether the owner is provably gone."""
    where, _, rest = owner.rpartition(":")
    where, _, number = where.rpartition(":")
    if where != place() or where.endswith("?") or not (number.isdigit() and rest.isdigit()):
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except PermissionError:  # somebody else's, of whom we may see nothing
        return False
    state, started = _facts(int(number))
    return state in ("Z", "X") or (started != 0 and started != int(rest))


def _facts(pid: int) -> tuple[str, int]:
    """The state of a process and when it started, in the kernel's ticks; ("", 0) where that cannot be seen."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "", 0
    parts = fields.rpartition(")")[2].split()  # the name before it may hold anything
    return parts[STATE], int(parts[START])
