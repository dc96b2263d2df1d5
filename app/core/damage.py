"""Stored files that are gone, cut off or altered: an answer that says so, in the place of a failure of ours."""

import contextlib
import json
from collections.abc import Iterator

from app.core import errors

GONE_OR_CUT = (FileNotFoundError, NotADirectoryError, EOFError, json.JSONDecodeError, UnicodeDecodeError)


@contextlib.contextmanager
def told(what: str, *also: type[Exception]) -> Iterator[None]:
    """Turn what reading such files raises into `Damaged`; `also`, where nothing but reading goes on inside."""
    try:
        yield
    except Exception as exc:
        if isinstance(exc, (*GONE_OR_CUT, *also)) or _of_arrow(exc):
            raise errors.Damaged(f"{what}: gone from the store, or damaged there") from exc
        raise


def _of_arrow(exc: Exception) -> bool:
    """Whether Arrow found a file that is none; its errors of reading are the system's without a number."""
    return type(exc).__module__ == "pyarrow.lib" or (type(exc) is OSError and exc.errno is None)
