"""`python -m worker.health`: exit 0 if the worker of this container has looked at the queue lately."""

import os
import sys
import time
from pathlib import Path

STALE_SECONDS = 30.0  # the relay looks every second


def alive(pulse: Path) -> bool:
    """Whether the file that the relay touches is young."""
    try:
        return time.time() - pulse.stat().st_mtime < STALE_SECONDS
    except OSError:
        return False


if __name__ == "__main__":
    sys.exit(0 if alive(Path(os.environ.get("C2S_PULSE", ""))) else 1)
