"""Which of its forms an answer has: the one that `Accept` likes best (RFC 9110, 12.5.1)."""

import contextlib
from collections.abc import Mapping
from typing import TypeVar

Form = TypeVar("Form", bound=str)


def best(accept: str, forms: Mapping[str, Form]) -> Form | None:
    """The form that a client likes best, of equals the first that it names; None: it takes none of them.

    `forms` are known by their media types, the one for whoever takes anything first.
    """
    liked = [_weighed(part) for part in accept.split(",") if part.strip()] or [("*/*", 1.0)]
    barred = {kind for kind, weight in liked if weight == 0}
    for wanted, _ in sorted((one for one in liked if one[1] > 0), key=lambda one: -one[1]):
        for kind, form in forms.items():
            if wanted in (kind, f"{kind.partition('/')[0]}/*", "*/*") and kind not in barred:
                return form
    return None


def _weighed(part: str) -> tuple[str, float]:
    """A media range, and how much it is liked: 0 is not at all."""
    wanted, *parameters = (word.strip().lower() for word in part.split(";"))
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            with contextlib.suppress(ValueError):
                return wanted, float(value)
    return wanted, 1.0
