"""The access token: given by the settings, or made at the first start and kept where only its owner can read it."""

import contextlib
import os
import secrets

from app.core.settings import TOKEN_FILE, Settings


def token(settings: Settings) -> str:
    """The token that every request must show."""
    if settings.token is not None:
        return settings.token.get_secret_value()
    path = settings.root / TOKEN_FILE
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_name(f"token.{os.getpid()}")
    draft.touch(mode=0o600)
    try:
        with draft.open("w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(32))
            file.flush()
            os.fsync(file.fileno())  # else a power cut may leave a file that is empty
        with contextlib.suppress(FileExistsError):  # an earlier start, or another process, made one
            os.link(draft, path)
    finally:
        draft.unlink()
    return path.read_text(encoding="ascii").strip()


def matches(shown: str, expected: str) -> bool:
    """Compare in constant time; strings that are not ASCII are legal and wrong, and nothing matches nothing."""
    return secrets.compare_digest(shown.encode(), expected.encode()) and bool(expected)
