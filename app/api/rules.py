"""What a text must look like, in words: nobody should have to read the pattern that it does not match."""

import re
from collections.abc import Mapping
from typing import Any

from pydantic_core import PydanticCustomError

from app.api import deps
from app.core import models

ID = re.compile(r"\^([a-z]+)_\[")  # how a pattern of ids begins
MISMATCH = "string_pattern_mismatch"
RULES = {
    models.ALIAS_PATTERN: "an alias is 1 to 64 of a to z, 0 to 9, _ and -, and begins with a letter",
    **dict.fromkeys((deps.AFTER, deps.RANK), deps.NO_CURSOR),
}


def addressable(name: str | None) -> str | None:
    """A name that nobody can take for another model's address."""
    if name is not None and not models.addressable(name):
        raise PydanticCustomError(
            "not_addressable", "reads as a model's id, or as name@version or name@alias"
        )
    return name


def has(fault: Mapping[str, Any]) -> bool:
    """Whether a user made the text up, so that there is a rule to tell; ids are ours."""
    return fault["type"] == MISMATCH and fault["ctx"]["pattern"] in RULES


def worded(fault: Mapping[str, Any]) -> Mapping[str, Any]:
    """A fault that pydantic found, with the rule in the place of the pattern."""
    if fault["type"] != MISMATCH:
        return fault
    pattern = fault["ctx"]["pattern"]
    said = RULES.get(pattern, "holds characters that cannot stand here")
    if (kind := ID.match(pattern)) is not None:
        said = f"is no such id: they begin with {kind[1]}_ and come from the service"
    return {**fault, "msg": said}
