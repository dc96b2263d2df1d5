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
    advice: str = ""  # what to do if the service does not know the key


def find(url: str | None = None, token: str | None = None) -> Address:
    """What is given, else C2S_URL and C2S_TOKEN, else the service on this machine.

    The token that lies at home is for the service that made it: it is never sent to another address.
    """
    home = Path(os.environ.get("C2S_HOME") or "~/.c2s").expanduser()
    embedded = _running(home) or DEFAULT_URL
    chosen = (url or os.environ.get("C2S_URL") or embedded).rstrip("/")
    if known := token or os.environ.get("C2S_TOKEN"):
        return Address(
            chosen, known, "the key that was given (C2S_TOKEN, or `token`) is none of this service"
        )
    known = _text(home / "token") if chosen == embedded else None
    return Address(chosen, known, _advice(home, chosen == embedded, known))


def _advice(home: Path, looked: bool, token: str | None) -> str:
    """Where a token was looked for, and how to name another place."""
    where = "C2S_HOME names a service's folder (of `make up` and `make demo`: .c2s where make ran), C2S_TOKEN a key"
    if not looked:
        return f"no key was given, and the one in {home} is of another service: {where}"
    return f"{f'the token in {home} is of another service' if token else f'there is no token in {home}'}: {where}"


def _running(home: Path) -> str | None:
    """The address that a service wrote down when it started; it may have stopped since."""
    words = (_text(home / "lock") or "").split()
    return words[1].rstrip("/") if len(words) == 2 else None


def _text(path: Path) -> str | None:
    with contextlib.suppress(OSError, UnicodeDecodeError):
        return path.read_text(encoding="utf-8").strip() or None
    return None
