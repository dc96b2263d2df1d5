"""What every config is: a frozen value that refuses what it does not know, and says so in a user's words."""

from typing import Annotated, Any, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, Strict, ValidationError

from c2s import errors, faults


class Config(BaseModel):
    """A frozen value that refuses what it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @classmethod
    def parse(cls, raw: object) -> Self:
        """Read plain data; what does not fit is `InvalidConfig`, naming every field."""
        try:
            return cls.model_validate(raw)
        except ValidationError as exc:
            found = exc.errors(include_url=False)
            raise errors.InvalidConfig(faults.sentence(found, raw)) from exc


class Exact(Config):
    """One of a request: a number is a number there, not a text or a truth value that could be read as one."""

    model_config = ConfigDict(strict=True)


LISTS = Strict(False)  # JSON has lists where we have tuples

# generous bounds: beyond them nothing learns, and numbers overflow in a job that has waited for its turn
Rate = Annotated[float, Field(gt=0, le=10)]  # of learning
Weight = Annotated[float, Field(ge=0, le=1e6)]
Positive = Annotated[float, Field(gt=0, le=1e6)]
Epochs = Annotated[int, Field(ge=1, le=10_000)]


def names(union: Any) -> tuple[str, ...]:
    """The names of a union's configs."""
    return tuple(kind().name for kind in get_args(get_args(union)[0]))


def by_name(raw: object) -> object:
    """`"forward"` stands for `{"name": "forward"}`, and what has no name for a name that is none of the union's."""
    if isinstance(raw, Config):
        return raw
    return {"name": None, **raw} if isinstance(raw, dict) else {"name": raw}
