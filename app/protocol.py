"""HTTP/1.1 with a deadline and a size for what a client sends: uvicorn itself waits and reads without end.

A silent or half-sent head ends after `head_seconds`, a body without progress after `body_seconds`, a head above
`head_bytes` at once. Time in which we ourselves do not read (a busy handler, a pipelined request) never counts.
"""

import asyncio
import enum
from collections.abc import Callable
from typing import Any, cast

from uvicorn._types import ASGI3Application
from uvicorn.protocols.http import flow_control, httptools_impl

from app import heads, limits, outgoing, watching
from app.core import errors, metrics

BUSY = watching.Watched(limits.busy)  # counted and told like any other answer


class HeadTooLarge(errors.ServiceError):
    status, code, title = 431, "headers_too_large", "The request head is too large"


class TooSlow(errors.ServiceError):
    status, code, title = 408, "request_timeout", "The request did not arrive in time"


class Part(enum.Enum):
    """What the next byte belongs to."""

    nothing = enum.auto()
    head = enum.auto()
    body = enum.auto()


class Guarded(httptools_impl.HttpToolsProtocol):
    """Refuses what comes too slowly, too large, or with two meanings, and closes."""

    head_seconds = 15.0
    body_seconds = 30.0
    # How long we still read and drop what a refused client sends: a reset would eat our answer.
    linger_seconds = 5.0
    head_bytes = 32 * 1024

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.part = Part.nothing
        self.messages = 0  # begun and ended ones, together
        self.head_chunks = 0  # bytes of chunks that held nothing but head
        self.progress_at = 0.0
        self.refused = False
        self.refusal: errors.ServiceError | None = None  # why a callback stopped the parser
        self.timers: dict[str, asyncio.TimerHandle] = {}

    # Timers: at most one of each name
    def arm(self, name: str, seconds: float, action: Callable[[], None]) -> None:
        if name not in self.timers:
            self.timers[name] = self.loop.call_later(seconds, self.fire, name, action)

    def fire(self, name: str, action: Callable[[], None]) -> None:
        del self.timers[name]
        if not self.transport.is_closing():
            action()

    def disarm(self, *names: str) -> None:
        for name in names:
            if timer := self.timers.pop(name, None):
                timer.cancel()

    # The connection
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.arm("head", self.head_seconds, self.head_is_late)

    def connection_lost(self, exc: Exception | None) -> None:
        self.disarm(*self.timers)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.refused:
            return
        before = self.part, self.messages
        super().data_received(data)
        if self.refused or self.transport.is_closing():
            return
        if self.part is Part.body:
            if "rest" not in self.timers:
                self.watch_body()
        elif (self.part, self.messages) == before:
            self.only_head_arrived(len(data))
        elif self.part is Part.head:
            self.arm("head", self.head_seconds, self.head_is_late)

    def only_head_arrived(self, size: int) -> None:
        """Counts a chunk that neither began nor ended a message: the parser reports no header before its end."""
        self.arm("head", self.head_seconds, self.head_is_late)  # blank lines before a request count as well
        self.head_chunks += size
        if self.head_chunks > self.head_bytes:
            self.refuse(self.too_large())

    # What the parser finds
    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.part = Part.head
        self.messages += 1
        self.head_chunks = 0

    def on_headers_complete(self) -> None:
        lines = [len(name) + len(value) + 4 for name, value in self.headers]  # with ": " and the line's end
        if sum(lines, len(self.url)) > self.head_bytes:
            self.stop(self.too_large())
        named = heads.of(cast(dict[str, Any], self.scope))
        if b"transfer-encoding" in named and (
            b"content-length" in named or self.parser.get_http_version() != "1.1"
        ):
            # Two readers of one stream could disagree where this request ends.
            self.stop(errors.BadRequest("transfer-encoding needs HTTP/1.1 and excludes content-length"))
        self.disarm("head")
        self.part = Part.body
        self.progress_at = self.loop.time()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self.progress_at = self.loop.time()
        super().on_body(body)

    def on_message_complete(self) -> None:
        self.part = Part.nothing
        self.messages += 1
        self.disarm("body", "rest")
        super().on_message_complete()

    def on_response_complete(self) -> None:
        if self.part is Part.body and not self.pipeline and not self.transport.is_closing():
            # Answered early, as with 413: a client that reads only after it has sent still gets our answer.
            self.disarm("body")
            self.arm("rest", self.linger_seconds, self.transport.close)
        if "head" in self.timers:  # the next head may have waited behind this answer
            self.disarm("head")
            self.arm("head", self.head_seconds, self.head_is_late)
        super().on_response_complete()

    def too_large(self) -> errors.ServiceError:
        return HeadTooLarge(f"request line and headers may have at most {self.head_bytes} bytes together")

    def stop(self, error: errors.ServiceError) -> None:
        self.refusal = error
        raise error  # inside a callback: the parser gives up, and uvicorn calls send_400_response

    def send_400_response(self, msg: str) -> None:
        self.refuse(self.refusal or errors.BadRequest("the request is not valid HTTP"))

    def _should_upgrade_to_ws(self) -> bool:
        return False  # no route speaks WebSocket

    def _unsupported_upgrade_warning(self) -> None:
        if self.owes_an_answer():
            self.cycle.keep_alive = False  # the parser takes what follows for the other protocol

    def _start_asgi_task(self, cycle: httptools_impl.RequestResponseCycle, app: ASGI3Application) -> None:
        """Starts the application, or our refusal where uvicorn has chosen its own for want of room."""
        if app is flow_control.service_unavailable:
            app = cast(ASGI3Application, BUSY)
        # A handler that waits for its turn asks whether anybody still waits for its answer; asking the cycle, which
        # holds the scope, would leave every request to the collector of cycles.
        cast(dict[str, Any], cycle.scope)["c2s.gone"] = self.transport.is_closing
        send = outgoing.Outgoing(cycle).send
        super()._start_asgi_task(cycle, lambda scope, receive, _send: app(scope, receive, send))

    # What is late
    def owes_an_answer(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def head_is_late(self) -> None:
        if self.owes_an_answer():  # it may wait behind an earlier request, unread by us
            self.arm("head", self.head_seconds, self.head_is_late)
        elif self.part is Part.nothing:
            self.transport.close()
        else:
            self.refuse(TooSlow(f"the request head was not complete after {self.head_seconds:g} seconds"))

    def watch_body(self) -> None:
        self.arm("body", self.body_seconds / 10, self.body_may_be_late)

    def body_may_be_late(self) -> None:
        now = self.loop.time()
        if self.flow.read_paused or self.cycle.waiting_for_100_continue:
            self.progress_at = now  # the client waits for us
        if now - self.progress_at < self.body_seconds:
            self.watch_body()
        else:
            self.refuse(TooSlow(f"no byte of the body arrived for {self.body_seconds:g} seconds"))

    # The end
    def refuse(self, error: errors.ServiceError) -> None:
        """Answers if an answer can still be understood, and ends the connection."""
        self.refused = True
        self.disarm(*self.timers)
        if self.owes_an_answer() and not self.cycle.more_body:
            self.cycle.keep_alive = False  # earlier, whole requests get their answers; the last one closes
        elif self.pipeline or (self.owes_an_answer() and self.cycle.response_started):
            self.transport.close()
        else:
            self.tell_application()
            self.answer(error)

    def tell_application(self) -> None:
        if self.owes_an_answer():
            self.cycle.disconnected = True
            self.cycle.message_event.set()

    def answer(self, error: errors.ServiceError) -> None:
        metrics.request("other", "none", error.status, 0.0)  # no application saw it
        request_id = limits.new_request_id()
        body = limits.problem(error, request_id=request_id)
        headers = [*limits.problem_headers(body, request_id), (b"connection", b"close")]
        lines = [name + b": " + value + b"\r\n" for name, value in headers]
        self.transport.write(httptools_impl.STATUS_LINE[error.status] + b"".join(lines) + b"\r\n" + body)
        if self.transport.can_write_eof():
            self.transport.write_eof()
            self.flow.resume_reading()
            self.arm("linger", self.linger_seconds, self.transport.close)
        else:
            self.transport.close()
