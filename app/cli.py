"""The `c2s` command: the library's commands and the service's."""

import sys
from collections.abc import Sequence

from pydantic import ValidationError

from app.commands import demo, keys, service
from app.core import errors
from c2s.commands import entry


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; 0 is success, 2 a refused input, 130 an interruption."""
    try:
        return entry.main(argv, more=(service, keys, demo))
    except errors.ServiceError as exc:
        sys.stderr.write(f"c2s: {exc}\n")
    except ValidationError as exc:  # of the settings: each command checks its own options
        for error in exc.errors(include_url=False, include_input=False):
            name = "_".join(str(part) for part in error["loc"])
            sys.stderr.write(f"c2s: {f'C2S_{name.upper()}: ' if name else ''}{error['msg']}\n")
    return entry.REFUSED
