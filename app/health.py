"""`python -m app.health`: exit 0 if the API on this machine is ready; for containers, which have no curl."""

import os
import sys
import urllib.error
import urllib.request

SECONDS = 4.0


def ready(port: int) -> bool:
    """Whether the API says that it can serve."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=SECONDS) as answer:  # nosec B310 # our own address
            return bool(answer.status == 200)
    except (OSError, urllib.error.URLError):
        return False


if __name__ == "__main__":
    sys.exit(0 if ready(int(os.environ.get("C2S_PORT", "8321"))) else 1)
