"""Errors as problem documents (RFC 9457): a closed set of codes, no input, no trace, no path, no SQL.

The class of an error decides its status and title; what happened this time is `detail`, where it happened is `errors`.
"""

from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any, cast

import orjson
import sqlalchemy.exc
import structlog
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field, ValidationError
from starlette.exceptions import HTTPException
from starlette.types import Scope

import c2s.errors
from app import limits
from app.api import codes, rules
from app.core import db, errors, incoming
from c2s import faults

MEDIA_TYPE = "application/problem+json"
MOST_FAULTS, LONGEST_POINTER, LONGEST_CAUSE = 50, 400, 400
BODY, PATH = "body", "path"
CHALLENGE = 'Bearer realm="c2s"'
FORESEEN = (errors.ServiceError, c2s.errors.C2SError, sqlalchemy.exc.SQLAlchemyError)

log = structlog.get_logger()


class Fault(BaseModel):
    """One thing that is wrong, and where: a JSON pointer into the body, a parameter, or a place in a file."""

    code: str
    detail: str
    pointer: str | None = None
    parameter: str | None = None
    line: int | None = None
    row: int | None = None
    entry: str | None = None


class Problem(BaseModel):
    """Why a request was not done."""

    type: str = Field(examples=["/problems/not_found"])
    title: str
    status: int
    code: codes.Code
    detail: str
    request_id: str
    errors: list[Fault] = []


class NotAllowed(errors.ServiceError):
    status, code, title = 405, "method_not_allowed", "The resource does not know this method"


class NotAcceptable(errors.ServiceError):
    status, code, title = 406, "not_acceptable", "The resource has no such form"


class Misdirected(errors.ServiceError):
    status, code, title = 421, "misdirected", "This service does not answer for that host"


KINDS: dict[int, type[errors.ServiceError]] = {
    kind.status: kind
    for kind in (
        errors.BadRequest,
        errors.Unauthorized,
        errors.Forbidden,
        errors.NotFound,
        NotAllowed,
        NotAcceptable,
        errors.Conflict,
        errors.Moved,
        errors.TooLarge,
        errors.Unsupported,
        Misdirected,
        errors.Invalid,
        errors.Unconditional,
        errors.TooMany,
        errors.Unavailable,
        errors.StoreFull,
        errors.ServiceError,
    )
}
EVERYWHERE = (401, 403, 404, 413, 415, 421, 422, 429, 500, 503)  # what any route may answer


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The problem responses of an operation, for OpenAPI."""
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {
        status: {"description": KINDS[status].title, "content": content}
        for status in sorted({*EVERYWHERE, *statuses})
    }


def answer(
    error: errors.ServiceError, request_id: str, headers: Mapping[str, str] | None = None, *, path: str = ""
) -> Response:
    """The problem document of an error, or what the Open Inference Protocol has in its place."""
    body: dict[str, Any] = {
        "type": f"/problems/{error.code}",
        "title": error.title,
        "status": error.status,
        "code": error.code,
        "detail": str(error),
        "request_id": request_id,
        "errors": [dict(fault) for fault in error.errors],
    }
    extra = {"Retry-After": str(error.retry_after)} if error.retry_after is not None else {}
    if error.status == HTTPStatus.UNAUTHORIZED:
        extra["WWW-Authenticate"] = CHALLENGE
    spoken = limits.speaks_oip(path)
    return Response(
        orjson.dumps({"error": str(error)} if spoken else body),
        status_code=error.status,
        media_type="application/json" if spoken else MEDIA_TYPE,
        headers={**(headers or {}), **extra},
    )


def request_id(request: Request) -> str:
    """The id that the log knows the request by."""
    return getattr(request.state, "request_id", "")


def of(exc: Exception) -> errors.ServiceError:
    """The error that a user is told of, for any exception."""
    match exc:
        case errors.ServiceError():
            return exc
        case c2s.errors.InvalidTransition():
            return _faulty(exc, "invalid_transition", "/transition/matrix")
        case c2s.errors.InvalidConfig() | c2s.errors.NotLearnable():
            return _faulty(exc, "invalid_config", "")
        case c2s.errors.InvalidModel():
            return errors.Damaged(str(exc), code="model_damaged")
        case c2s.errors.InvalidDataset():
            return _faulty(exc, "invalid_dataset", "")
        case sqlalchemy.exc.TimeoutError():
            return errors.Unavailable("the database is busy")
        case sqlalchemy.exc.DBAPIError() if db.unavailable(exc):
            return errors.Unavailable("the database does not answer")
        case OSError() if (known := incoming.trouble(exc)) is not None:
            return known
        case _:
            return errors.ServiceError("an error that nobody foresaw; the log has it under this request_id")


def _faulty(exc: Exception, code: str, pointer: str) -> errors.Invalid:
    fault = {"pointer": pointer, "code": code, "detail": str(exc)}
    return errors.Invalid(str(exc), code=code, errors=[fault])


def invalid(found: Iterable[Mapping[str, Any]], body: object = None) -> errors.ServiceError:
    """What pydantic found wrong with a request, without the input that it quotes."""
    told = [{**rules.worded(fault), "loc": fault["loc"] or (BODY,)} for fault in found]
    if told and all(fault["loc"][0] == PATH and not rules.has(fault) for fault in told):
        return errors.NotFound("there is no such resource")  # an id that cannot be one
    said = faults.read(told, _sent(told, body))
    count = f"{len(said)} fault{'s' * (len(said) != 1)} in the request"
    return errors.Invalid(count, errors=[_told(fault) for fault in said[:MOST_FAULTS]])


def refused(exc: ValidationError, value: object, where: str = BODY) -> errors.ServiceError:
    """The same of a value that a handler reads itself."""
    found = exc.errors(include_url=False)
    return invalid([{**fault, "loc": (where, *fault["loc"])} for fault in found], value)


def _sent(found: Iterable[Mapping[str, Any]], body: object) -> dict[str, Any]:
    """What was sent, by the places that the framework names: the body, and the parameters that are at fault."""
    sent: dict[str, Any] = {BODY: body}
    for fault in found:
        where, *place = fault["loc"]
        if where != BODY:
            sent.setdefault(where, {}).update({name: fault.get("input") for name in place[:1]})
    return sent


def _told(fault: faults.Fault) -> dict[str, Any]:
    where, *place = fault.place
    said = {"code": fault.code, "detail": fault.detail}
    if where == BODY:
        return {"pointer": pointer(place)[:LONGEST_POINTER], **said}
    return {"parameter": str(place[0] if place else where)[:LONGEST_POINTER], **said}


def pointer(place: Iterable[object]) -> str:
    """The JSON pointer of a place."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in place)


def _http(exc: HTTPException) -> errors.ServiceError:
    kind = KINDS.get(exc.status_code, errors.ServiceError)
    return kind()  # the framework's own words may quote the request


async def on_error(request: Request, exc: Exception) -> Response:
    headers = None
    match exc:
        case RequestValidationError():
            error = invalid(exc.errors(), exc.body)
        case HTTPException():
            error, headers = _http(exc), exc.headers
        case _:
            error = of(exc)
            complain(request.scope, exc, error)
    limits.note(request.scope, error)
    return answer(error, request_id(request), headers, path=request.scope["path"])


def complain(scope: Scope, exc: Exception, error: errors.ServiceError) -> None:
    """Log what is not the caller's fault; a trace is for what nobody foresaw, else its cause is named."""
    if error.status < HTTPStatus.INTERNAL_SERVER_ERROR:
        return
    if error.code == errors.ServiceError.code:
        log.error("request_failed", code=error.code, path=scope["path"], exc_info=exc)
        return
    cause = exc.__cause__ if exc is error else exc
    said = {"cause": f"{type(cause).__name__}: {cause}"[:LONGEST_CAUSE]} if cause else {}
    log.error("request_failed", code=error.code, path=scope["path"], **said)


def install(app: FastAPI) -> None:
    """Answer every error of the application with a problem document."""
    for kind in (*FORESEEN, RequestValidationError, HTTPException):
        app.add_exception_handler(cast(type[Exception], kind), on_error)
