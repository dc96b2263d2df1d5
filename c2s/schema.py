"""What every config is: a frozen value that refuses what it does not know, and says so in a user's words."""

from typing import Any, Self, get_args

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from c2s import errors


class Config(BaseModel):
    """A frozen value that refuses what it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @classmethod
    def parse(cls, raw: object) -> Self:
        """Read plain data; what does not fit is `InvalidConfig`, naming the field."""
        try:
            return cls.model_validate(raw)
        except ValidationError as exc:
            first = exc.errors(include_url=False)[0]
            where = ".".join(str(part) for part in first["loc"]) or "config"
            raise errors.InvalidConfig(f"{where}: {_plainly(first)}") from exc


def _plainly(error: ErrorDetails) -> str:
    """What pydantic found, in a user's words."""
    match error["type"]:
        case "extra_forbidden":
            return "there is no such setting"
        case "union_tag_invalid":
            return f"{error['ctx']['tag']!r} is none of {error['ctx']['expected_tags']}"
        case _:
            return error["msg"]


def names(union: Any) -> tuple[str, ...]:
    """The names of a union's configs."""
    return tuple(kind().name for kind in get_args(get_args(union)[0]))


def by_name(raw: object) -> object:
    """`"forward"` stands for `{"name": "forward"}`."""
    return {"name": raw} if isinstance(raw, str) else raw
