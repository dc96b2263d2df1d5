"""The headers of a request as one dictionary, made once: each look through the list costs as much as making it."""

from starlette.types import Scope

PLACE = "c2s.heads"


def of(scope: Scope) -> dict[bytes, bytes]:
    """Headers by their names in lower case; of several with one name, the first."""
    found: dict[bytes, bytes] | None = scope.get(PLACE)
    if found is None:
        found = scope[PLACE] = dict(reversed(scope["headers"]))
    return found


def text(scope: Scope, name: bytes, otherwise: str = "") -> str:
    """A header as text."""
    value = of(scope).get(name)
    return otherwise if value is None else value.decode("latin-1")
