"""Columns of a file that no net learns from: why not, and how to keep one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, assert_never

MOST_VALUES = 64  # of a category; one of more, that all occur once, names its rows
Silent = Literal["empty", "constant", "all_different"]  # why a column says nothing
Aside = Literal["asked", "id", "gold", "nameless"]  # why a column is no feature before anything is learnt
Code = Silent | Aside | Literal["not_the_text"]


@dataclass(frozen=True)
class Manner:
    """How options are written where a hint is read."""

    option: str
    table: str  # what reads a file of texts as a table

    def __call__(self, option: str, name: str) -> str:
        """An option with its column."""
        return self.option.format(option=option, name=name)


SERVICE = Manner("{option}={name}", "kind=tabular, without text=")
COMMAND = Manner("--{option} {name}", "no --text")


class Unused(NamedTuple):
    """A column that is left out."""

    name: str
    code: Code

    @property
    def detail(self) -> str:
        """Why, as the end of a sentence about the column."""
        match self.code:
            case "empty":
                return "holds no value"
            case "constant":
                return "holds the same value in every row"
            case "all_different":
                return f"has over {MOST_VALUES} values, each in one row alone"
            case "not_the_text":
                return "is not the column of texts, which are learnt from alone"
            case "asked":
                return "was asked to be left out"
            case "id":
                return "names the rows"
            case "gold":
                return "holds true labels, which the model is judged by and does not learn from"
            case "nameless":
                return "has no name, as row numbers that pandas writes"
            case other:
                assert_never(other)

    def keep(self, manner: Manner) -> str | None:
        """What to do if it is wanted; None: nothing can be learnt from it."""
        match self.code:
            case "empty" | "constant" | "gold":
                return None
            case "all_different":
                text, names = manner("text", self.name), manner("id", self.name)
                return f"{text} learns from it alone, as text; {names} names the rows by it"
            case "not_the_text":
                return f"{manner.table}: the columns are read as a table"
            case "asked":
                return f"leave out {manner('drop', self.name)}"
            case "id":
                return f"leave out {manner('id', self.name)}"
            case "nameless":
                return "give it a name"
            case other:
                assert_never(other)


def set_aside(
    there: Sequence[str],
    *,
    id: str | None,  # noqa: A002 - the option's name everywhere
    drop: Sequence[str],
    gold: str | None = None,
) -> dict[str, Aside]:
    """The columns that are no features whatever they hold, in the file's order, and why."""
    why: dict[str, Aside] = dict.fromkeys(drop, "asked")
    why[""] = "nameless"
    if id is not None:
        why[id] = "id"
    if gold is not None:
        why[gold] = "gold"
    return {name: why[name] for name in there if name in why}
