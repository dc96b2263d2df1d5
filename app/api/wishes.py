"""What an answer to a prediction is to hold, wherever that is said; how much of it there is, and what is too much."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter, ValidationError
from starlette.datastructures import QueryParams

from app.api import questions, strict
from app.core import errors, models

MOST_NUMBERS = 1_000_000  # probabilities in one answer
PARAMETERS = {"model", "top_k", "outputs"}
UNUSED = "there are no probabilities in these outputs that it could shorten"
_KINDS: dict[str, TypeAdapter[Any]] = {
    name: TypeAdapter(questions.PredictIn.__annotations__[name]) for name in ("top_k", "outputs")
}


def numbers(rows: int, classes: int, *, top: int, noisy: bool) -> int:
    """The probabilities in an answer: so many of the likeliest classes, and where asked for the noisy ones of all."""
    return rows * (min(top, classes) + noisy * classes)


def check(found: int, rows: int, classes: int, *, most: int | None = None, where: str = "/inputs") -> None:
    """Refuse an answer that is out of all proportion."""
    if found > (MOST_NUMBERS if most is None else most):
        detail = (
            f"{rows} rows of {classes} classes are too many at once: ask for top_k, or fewer outputs or rows"
        )
        raise questions.wrong(detail, where)


@dataclass(frozen=True)
class Wish:
    """What an answer is to hold."""

    top_k: int | None = None
    outputs: tuple[str, ...] = ("class", "probabilities")

    @classmethod
    def of(cls, top_k: int | None, outputs: Sequence[str] | None, *, said: str = "pointer") -> "Wish":
        """The wish of a question, which is said in a body (by pointers) or in a query (by parameters)."""
        chosen = tuple(outputs) if outputs else cls.outputs
        if top_k is not None and "probabilities" not in chosen:
            place = "top_k" if said == "parameter" else "/top_k"
            raise errors.Invalid(UNUSED, errors=[{said: place, "code": "unused", "detail": UNUSED}])
        return cls(top_k, chosen)

    def numbers(self, rows: int, classes: int, *, audited: bool = False) -> int:
        """The probabilities in the answer; one that audits labels tells the noisy ones too."""
        top = (self.top_k or classes) if "probabilities" in self.outputs else 0
        return numbers(rows, classes, top=top, noisy=audited or "noisy_probabilities" in self.outputs)

    def check(self, rows: int, classes: int, *, audited: bool = False) -> None:
        """Refuse an answer that is out of all proportion."""
        check(self.numbers(rows, classes, audited=audited), rows, classes)


class Asked:
    """What a query says."""

    def __init__(self, given: QueryParams) -> None:
        self._given = given

    @functools.cached_property
    def named(self) -> tuple[str, Wish]:
        """Model and wish of a request whose body cannot name them."""
        given = self._given
        name = given.get("model", "")
        if not 1 <= len(name) <= models.LONGEST:
            raise _parameter(
                "model", "the body does not say which model it is for: ?model=mdl_... or ?model=name"
            )
        outputs = _valid("outputs", given["outputs"].split(",") if "outputs" in given else None)
        return name, Wish.of(_valid("top_k", given.get("top_k")), outputs, said="parameter")

    def check_none(self) -> None:
        """Refuse a query beside a body that says everything itself."""
        for name in self._given:
            raise unused(name)


@functools.lru_cache(256)
def asked(raw: bytes) -> Asked:
    """What the query says; most clients ask again and again with the same one."""
    given = QueryParams(raw)
    if raw:
        strict.check_query(given, PARAMETERS)
    return Asked(given)


def unused(name: str) -> errors.Invalid:
    """What is said of a parameter that JSON has no use for."""
    fault = {"parameter": name[:100], "code": "extra_forbidden", "detail": "is for a body that is not JSON"}
    return errors.Invalid("with JSON all that is asked is in the body", errors=[fault])


def _valid(name: str, value: object) -> Any:
    try:
        return _KINDS[name].validate_python(value)
    except ValidationError as exc:
        raise _parameter(name, str(exc.errors()[0]["msg"])) from exc


def _parameter(name: str, detail: str) -> errors.Invalid:
    return errors.Invalid(detail, errors=[{"parameter": name, "code": "invalid", "detail": detail}])
