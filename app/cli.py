"""The `c2s` command: the library's commands and the service's."""

import sys
from collections.abc import Sequence

from app.commands import demo, keys, opening, service
from app.core import errors
from c2s.commands import entry, exits


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; `c2s.commands.exits` says what its code means."""
    try:
        return entry.main(argv, more=(service, keys, demo))
    except errors.ServiceError as exc:
        sys.stderr.write(f"c2s: {exc}\n")
        return _code(exc)
    except ValueError as exc:
        if not _told(exc):
            raise
    except Exception as exc:
        if (refusal := _of_database(exc)) is None:
            raise
        sys.stderr.write(f"c2s: {refusal}\n")
        return _code(refusal)
    return entry.REFUSED


def _code(exc: errors.ServiceError) -> int:
    match exc:
        case errors.NotFound():
            return exits.NOT_FOUND
        case errors.Unavailable():
            return exits.AWAY
        case _:
            return exits.REFUSED


def _of_database(exc: Exception) -> errors.ServiceError | None:
    """What to say if it was the database; without SQLAlchemy loaded it was not."""
    if "sqlalchemy" not in sys.modules:
        return None
    from sqlalchemy.exc import DBAPIError

    return opening.refusal(exc, service.load()) if isinstance(exc, DBAPIError) else None


def _told(exc: ValueError) -> bool:
    """Say what is wrong with the settings: each command checks its own options."""
    from pydantic import ValidationError

    if not isinstance(exc, ValidationError):
        return False
    for error in exc.errors(include_url=False, include_input=False):
        name = "_".join(str(part) for part in error["loc"])
        sys.stderr.write(f"c2s: {f'C2S_{name.upper()}: ' if name else ''}{error['msg']}\n")
    return True
