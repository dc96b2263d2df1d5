"""Where the service is and what it knows us by: as told, by the environment, or by what `c2s up` left at its home."""

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

DEFAULT_URL = "http://127.0.0.1:8321"


@dataclass(frozen=True)
class Address:
    """A service and a key to it."""

    url: str
    token: str | None


def find(url: str | None = None, token: str | None = None) -> Address:
    """What is given, else C2S_URL and C2S_TOKEN, else the service on this machine.

    The token that lies at home is for the service that made it: it is never sent to another address.
    """
    home = Path(os.environ.get("C2S_HOME") or "~/.c2s").expanduser()
    embedded = _running(home) or DEFAULT_URL
    chosen = (url or os.environ.get("C2S_URL") or embedded).rstrip("/")
    known = token or os.environ.get("C2S_TOKEN") or None
    if known is None and chosen == embedded:
        known = _text(home / "token")
    return Address(chosen, known)


def _running(home: Path) -> str | None:
    """The address that a service wrote down when it started; it may have stopped since."""
    words = (_text(home / "lock") or "").split()
    return words[1].rstrip("/") if len(words) == 2 else None


def _text(path: Path) -> str | None:
    with contextlib.suppress(OSError, UnicodeDecodeError):
        return path.read_text(encoding="utf-8").strip() or None
    return None
