"""Ids of our own making: a prefix, 48 bits of time, 80 random bits; they sort by age and never come from a user."""

import re
import secrets
import threading
import time
from typing import Literal

Prefix = Literal["ds", "job", "mdl", "prj", "key", "aud", "wrk"]
ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's, without letters that look like digits
LENGTH = 26
PATTERN = rf"[0-7][{ALPHABET}]{{{LENGTH - 1}}}"

_lock = threading.Lock()
_last = 0


def new(prefix: Prefix) -> str:
    """An id that no other process makes; inside a process later ones are larger."""
    global _last
    with _lock:
        number = time.time_ns() // 1_000_000 << 80 | secrets.randbits(80)
        _last = number if number > _last else _last + 1
        number = _last
    digits = (number >> 5 * place & 31 for place in reversed(range(LENGTH)))
    return f"{prefix}_{''.join(ALPHABET[digit] for digit in digits)}"


def pattern(prefix: Prefix) -> str:
    """What an id looks like, as a regular expression."""
    return rf"^{prefix}_{PATTERN}$"


def valid(prefix: Prefix, text: str) -> bool:
    """Whether the text can be an id at all."""
    return re.fullmatch(rf"{prefix}_{PATTERN}", text) is not None
