"""Run as a script: ends a server and removes its folder when the test process is gone, however it went."""

import contextlib
import os
import shutil
import signal
import sys
import time
from pathlib import Path

PATIENCE = 60.0  # seconds that a server's children may take to leave


def main(pid, folder):
    """Wait until the other end of standard input is gone."""
    sys.stdin.buffer.read()
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    deadline = time.monotonic() + PATIENCE
    while Path(folder).exists() and time.monotonic() < deadline:
        shutil.rmtree(folder, ignore_errors=True)  # again while PostgreSQL's children are still leaving
        time.sleep(0.1)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
