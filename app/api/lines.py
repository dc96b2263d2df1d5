"""Predictions line by line (NDJSON): a row in, an answer out, in order, in bounded memory; a bad line fails alone."""

import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

import numpy as np
import orjson
from fastapi import Request
from fastapi.responses import StreamingResponse
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from app.api import admission, answers, questions, strict, wishes
from app.core import errors
from app.inference import Loaded
from c2s import data, runtime
from c2s.runtime import Probabilities

NDJSON = "application/x-ndjson"
LONGEST = 2**20  # bytes of a line
TOGETHER = 64  # lines that are computed as one batch

Compute = Callable[[Request, Loaded, data.Inputs], Awaitable[Probabilities]]


class Streamed(StreamingResponse):
    """Leaves what the client sends to the one who reads it; the parent looks there for its end, and swallows lines."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.stream_response(send)


def answer(
    request: Request, model: Loaded, wish: wishes.Wish, compute: Compute, headers: Mapping[str, str]
) -> Streamed:
    """A stream of answers that begins while questions still come."""
    return Streamed(_answers(request, model, wish, compute), media_type=NDJSON, headers=headers)


async def _answers(
    request: Request, model: Loaded, wish: wishes.Wish, compute: Compute
) -> AsyncIterator[bytes]:
    number = 1  # as editors and every other answer count lines
    door: admission.Admission = request.app.state.admission
    async for some in _batches(request):
        if not await door.still(request):
            yield _line(errors.Unauthorized("the key has ended"), number)
            return
        yield await _some(request, model, wish, compute, some, number)
        number += len(some)


async def _batches(request: Request) -> AsyncIterator[list[bytes]]:
    """Lines as they come, some at a time; empty ones count but ask nothing."""
    rest = b""
    async for chunk in request.stream():
        *whole, rest = (rest + chunk).split(b"\n")
        for start in range(0, len(whole), TOGETHER):
            yield whole[start : start + TOGETHER]
        if len(rest) > LONGEST:
            yield [rest]  # refused as too long
            return
    if rest:
        yield [rest]


async def _some(
    request: Request, model: Loaded, wish: wishes.Wish, compute: Compute, some: list[bytes], first: int
) -> bytes:
    filled = [
        (number, line) for number, line in enumerate(some, first) if line.strip() or len(line) > LONGEST
    ]
    read = _rows(model, [_value(line) for _, line in filled])
    asked = [found for found in read if not isinstance(found, errors.ServiceError)]
    said: list[Any] = []
    if asked:
        try:
            probs = await compute(request, model, runtime.joined(asked))
            said += answers.predictions(model.interface, probs, wish)
            for place in np.flatnonzero(~np.isfinite(probs).all(axis=1)).tolist():
                said[place] = questions.wrong("the row is too large for the model", "")
        except (
            errors.ServiceError
        ) as exc:  # the queue is full: these lines are told, later ones may do better
            said = [exc] * len(asked)
        except ClientDisconnect:
            return b""
    order = iter(said)
    found = [one if isinstance(one, errors.ServiceError) else next(order) for one in read]
    return b"".join(_line(one, number) for (number, _), one in zip(filled, found, strict=True))


def _value(line: bytes) -> Any:
    """What a line says; one that says nothing is its own error."""
    try:
        if len(line) > LONGEST:
            return errors.TooLarge(f"a line may have at most {LONGEST} bytes")
        return strict.parse(line, endless=True)
    except errors.BadRequest:
        return errors.BadRequest("the line is not JSON in UTF-8, or is nested too deeply")
    except errors.ServiceError as exc:
        return exc


def _rows(model: Loaded, values: list[Any]) -> list[data.Inputs | errors.ServiceError]:
    """Each line as inputs or as its error: read together, which costs little more than one, unless one is bad.

    Pictures are read one by one: whether 1 is white or almost black is told by the picture's own numbers.
    """
    sound = [value for value in values if not isinstance(value, errors.ServiceError)]
    if not sound or model.interface.shape.image is not None:
        return [_row(model, value) for value in values]
    try:
        whole = questions.rows(model.interface, sound)
    except errors.ServiceError:
        return [_row(model, value) for value in values]
    order = itertools.count()
    return [
        value
        if isinstance(value, errors.ServiceError)
        else runtime.part(whole, place := next(order), place + 1)
        for value in values
    ]


def _row(model: Loaded, value: Any) -> data.Inputs | errors.ServiceError:
    if isinstance(value, errors.ServiceError):
        return value
    try:
        return questions.rows(model.interface, [value])
    except errors.ServiceError as exc:
        return exc


def _line(one: Any, number: int) -> bytes:
    if isinstance(one, errors.ServiceError):
        fault = dict(one.errors[0]) if one.errors else {}
        where = str(fault.get("pointer", "")).removeprefix("/inputs/0")
        error = {"code": one.code, "detail": str(one), "pointer": where}
        one = {"error": error}
    return orjson.dumps({"line": number, **one}, option=orjson.OPT_APPEND_NEWLINE)
