"""The way out: an answer of known length leaves in one piece, and a header that every answer has is checked once.

uvicorn looks each header of each answer over with two patterns and writes head and body apart; with the headers that
keep browsers from being clever, that costs more than reading the request. Streams and whatever else is out of the
ordinary go uvicorn's way.
"""

import functools
from typing import Any

from uvicorn.protocols.http import httptools_impl

Message = Any  # of ASGI: a mapping whose type decides its other keys
UNIQUE = frozenset({b"content-length", b"x-request-id"})  # not worth remembering
MEANINGFUL = frozenset({b"connection", b"transfer-encoding"})  # change what follows: for uvicorn


class Outgoing:
    """One answer on its way into the cycle that uvicorn keeps for it."""

    __slots__ = ("_cycle", "_held")

    def __init__(self, cycle: httptools_impl.RequestResponseCycle) -> None:
        self._cycle = cycle
        self._held: Message = None  # the start of an answer whose body is still to come

    async def send(self, message: Message) -> None:
        """Takes an ASGI message as the cycle would."""
        held, self._held = self._held, None
        if held is None and message["type"] == "http.response.start" and _has_length(message):
            self._held = message
            return
        if held is not None:
            if self._sent_whole(held, message):
                return
            await self._cycle.send(held)
        await self._cycle.send(message)

    def _sent_whole(self, start: Message, message: Message) -> bool:
        """Write head and body together, if this is all of the body and nothing speaks against it."""
        cycle, body = self._cycle, message.get("body", b"")
        ordinary = cycle.keep_alive and not (cycle.response_started or cycle.disconnected)
        if not ordinary or message.get("more_body") or cycle.flow.write_paused or cycle.access_log:
            return False
        headers = [*cycle.default_headers, *start["headers"]]
        lines = [
            _line.__wrapped__(name, value) if name in UNIQUE else _line(name, value)
            for name, value in headers
        ]
        if not all(lines) or _length(headers) != len(body) or cycle.scope["method"] == "HEAD":
            return False
        cycle.response_started = cycle.response_complete = True
        cycle.waiting_for_100_continue = False
        cycle.transport.write(b"".join((httptools_impl.STATUS_LINE[start["status"]], *lines, b"\r\n", body)))
        cycle.message_event.set()
        cycle.on_response()
        return True


def _has_length(message: Message) -> bool:
    return any(name == b"content-length" for name, _ in message.get("headers", ()))


def _length(headers: list[tuple[bytes, bytes]]) -> int:
    return next((int(value) for name, value in headers if name == b"content-length"), -1)


@functools.lru_cache(256)
def _line(name: bytes, value: bytes) -> bytes:
    """A header as it is sent; empty for one that uvicorn has to look at, or refuses."""
    if name.lower() in MEANINGFUL:
        return b""
    if httptools_impl.HEADER_RE.search(name) or httptools_impl.HEADER_VALUE_RE.search(value):
        return b""
    return name.lower() + b": " + value + b"\r\n"
