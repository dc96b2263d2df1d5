"""Requests taken at their word: unknown parameters, other media types, and JSON that nobody could keep are refused."""

import json
import math
from collections.abc import Callable, Coroutine
from typing import Any

import orjson
from fastapi import Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.datastructures import QueryParams
from starlette.requests import HTTPConnection

from app import heads
from app.api import scopes
from app.core import errors

JSON = "application/json"
LONGEST_WHOLE = 19  # digits of an integer that surely fits 64 bits
NUL = "\x00"


class Strict(APIRoute):
    """A route that looks at the request as a whole before its fields are read."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        known, path, body = _parameters(self.dependant), self.path_format, self.body_field

        async def strictly(request: Request) -> Response:
            scopes.check(request, path)
            check_parameters(request, known)
            if body is not None and (body.field_info.is_required() or _has_body(request)):
                request = await _parsed(request)
            return await handle(request)

        return strictly


class Parsed(Request):
    """A request whose JSON is read already."""

    value: Any = None

    async def json(self) -> Any:
        return self.value


def _has_body(request: Request) -> bool:
    """Whether a body comes, be it empty; without one, a request that has a usual one means that."""
    given = heads.of(request.scope)
    return (
        b"transfer-encoding" in given
        or given.get(b"content-length", b"0") != b"0"
        or b"content-type" in given
    )


async def _parsed(request: Request) -> Request:
    check_json(request)
    raw = await request.body()
    parsed = Parsed(request.scope, _replay(raw))
    parsed.value = parse(raw) if raw else None
    return parsed


def _replay(raw: bytes) -> Callable[[], Coroutine[Any, Any, dict[str, Any]]]:
    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": raw, "more_body": False}

    return receive


def check_parameters(request: Request, known: set[str]) -> None:
    """Refuse query parameters that mean nothing here, and text that PostgreSQL cannot keep."""
    check_query(request.query_params, known)


def check_query(given: QueryParams, known: set[str]) -> None:
    """The same of a query."""
    faults = [
        {"parameter": name[:100], "code": "extra_forbidden", "detail": "there is no such parameter"}
        for name in dict.fromkeys(given)
        if name not in known
    ] + [
        {"parameter": name[:100], "code": "nul", "detail": "holds a NUL character"}
        for name, value in given.multi_items()
        if NUL in value
    ]
    if faults:
        raise errors.Invalid("parameters that cannot be used", errors=faults[:50])


def media_type(request: HTTPConnection) -> str:
    """The type of the body, without its parameters."""
    if heads.text(request.scope, b"content-encoding", "identity").lower() != "identity":
        raise errors.Unsupported("send the body as it is, without a Content-Encoding")
    return heads.text(request.scope, b"content-type").partition(";")[0].strip().lower()


def check_json(request: HTTPConnection, *others: str) -> None:
    """Refuse what is not said to be JSON, and name what other types are taken where it is asked for."""
    kind = media_type(request)
    if kind != JSON and not (kind.startswith("application/") and kind.endswith("+json")):
        also = f", or another kind of body as {', '.join(others)}" if others else ""
        raise errors.Unsupported(f"send JSON as Content-Type: {JSON}{also}")


def parse(raw: bytes, *, endless: bool = False) -> Any:
    """The JSON of a body: malformed is 400, well-formed but with text or numbers that cannot be kept is 422.

    NaN and numbers without end are floats where the caller knows what to do with them.
    """
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError as exc:
        value = _second(raw, exc, endless=endless)
    if b"\\u0000" in raw:  # the one way to write it
        _refuse(value, lambda leaf: isinstance(leaf, str) and NUL in leaf, "nul", "holds a NUL character")
    return value


def _second(raw: bytes, why: orjson.JSONDecodeError, *, endless: bool) -> Any:
    """Python reads what orjson does not: NaN, numbers without bound, halves of characters."""
    bad = errors.BadRequest("the body is not JSON in UTF-8, or is nested too deeply")
    try:
        value = json.loads(raw.decode(), parse_int=_whole)  # int refuses thousands of digits
    except (ValueError, RecursionError):
        raise bad from why
    _refuse(value, _broken, "bad_text", "holds half a character (a lone surrogate)")
    try:
        _refuse(value, _endless, "not_finite", "is not a finite number")
    except errors.Invalid:
        if endless:
            return value
        raise
    raise bad from why


def _whole(digits: str) -> int | float:
    """An integer as orjson reads it: one that takes more than 64 bits is a float."""
    return int(digits) if len(digits) < LONGEST_WHOLE else float(digits)


def _endless(leaf: object) -> bool:
    return isinstance(leaf, float) and not math.isfinite(leaf)


def _broken(leaf: object) -> bool:
    return isinstance(leaf, str) and any("\ud800" <= letter <= "\udfff" for letter in leaf)


def _refuse(value: object, wrong: Callable[[object], bool], code: str, detail: str) -> None:
    """Raise for the first leaf or key that is wrong."""
    stack: list[tuple[str, object]] = [("", value)]
    while stack:
        place, found = stack.pop()
        if isinstance(found, dict):
            if any(wrong(key) for key in found):
                raise _fault(place, code, f"a key {detail}")
            stack += [(f"{place}/{_escaped(key)}", leaf) for key, leaf in found.items()]
        elif isinstance(found, list):
            stack += [(f"{place}/{number}", leaf) for number, leaf in enumerate(found)]
        elif wrong(found):
            raise _fault(place, code, f"the value {detail}")


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def _fault(place: str, code: str, detail: str) -> errors.Invalid:
    return errors.Invalid(detail, errors=[{"pointer": place[:400], "code": code, "detail": detail}])


def _parameters(dependant: Dependant) -> set[str]:
    """The query parameters of a route and of all that it depends on."""
    own = {field.alias for field in dependant.query_params}
    return own.union(*(_parameters(inner) for inner in dependant.dependencies))
