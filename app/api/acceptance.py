"""Which of its forms an answer has: the one that `Accept` likes best (RFC 9110, 12.5.1)."""

import re
from collections.abc import Mapping, Sequence
from typing import TypeVar

Form = TypeVar("Form", bound=str)
WEIGHT = re.compile(r"0(\.[0-9]{0,3})?|1(\.0{0,3})?")


def best(accept: str, forms: Mapping[str, Form]) -> Form | None:
    """The form that a client likes best, of equals the first that it names; None: it takes none of them.

    `forms` are known by their media types, the one for whoever takes anything first.
    """
    said = [_weighed(part) for part in accept.split(",") if part.strip()] or [("*/*", 1.0)]
    liked = sorted((_liking(kind, said), form) for form, kind in enumerate(forms))  # least comes first
    (weight, _), place = liked[0]
    return list(forms.values())[place] if weight < 0 else None


def _liking(kind: str, said: Sequence[tuple[str, float]]) -> tuple[float, int]:
    """How much a type is liked, as a negative number, and where that is said: its most specific range decides."""
    for wanted in (kind, f"{kind.partition('/')[0]}/*", "*/*"):
        for place, (named, weight) in enumerate(said):
            if named == wanted:
                return -weight, place
    return 0.0, len(said)


def _weighed(part: str) -> tuple[str, float]:
    """A media range, and how much it is liked: 0 is not at all."""
    wanted, *parameters = (word.strip().lower() for word in part.split(";"))
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q" and WEIGHT.fullmatch(value.strip()):
            return wanted, float(value)
    return wanted, 1.0
