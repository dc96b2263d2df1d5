"""What every request meets before the application: a request id, a body limit, and no forms."""

import asyncio
import re
import secrets
from collections.abc import Iterable

import orjson
import structlog
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app import heads
from app.core import errors

MEBI = 1024 * 1024
REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
NDJSON = b"application/x-ndjson"
PLACE = "c2s.exchange"  # of the scope: the layers inside share it
# On every answer. What brings a policy of its own (a page) keeps it; the rest is data, and no document of any site.
SECURITY = {
    b"content-security-policy": b"default-src 'none'; frame-ancestors 'none'",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"referrer-policy": b"no-referrer",
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
}
ALWAYS = tuple(SECURITY.items())
TLS = (b"strict-transport-security", b"max-age=31536000")  # only where a browser came by TLS
FORMS = {b"multipart/form-data", b"application/x-www-form-urlencoded"}

log = structlog.get_logger()


def new_request_id() -> str:
    return secrets.token_hex(16)


def problem(error: errors.ServiceError, *, request_id: str) -> bytes:
    """Builds the problem document (RFC 9457) of an answer that no handler gives."""
    return orjson.dumps(
        {
            "type": f"/problems/{error.code}",
            "title": error.title,
            "status": error.status,
            "detail": str(error),
            "code": error.code,
            "request_id": request_id,
        }
    )


def problem_headers(body: bytes, request_id: str) -> list[tuple[bytes, bytes]]:
    return [
        (b"content-type", b"application/problem+json"),
        (b"content-length", b"%d" % len(body)),
        (b"x-request-id", request_id.encode("ascii")),
        *SECURITY.items(),
    ]


def secured(headers: Iterable[tuple[bytes, bytes]], scheme: str) -> list[tuple[bytes, bytes]]:
    """An answer's headers with what keeps a browser from being clever about it."""
    given = list(headers)
    own = {name for name, _ in given if name in SECURITY}
    given += [pair for pair in ALWAYS if pair[0] not in own] if own else ALWAYS
    return [*given, TLS] if scheme == "https" else given


def header(scope: Scope, name: bytes) -> bytes:
    return heads.of(scope).get(name, b"")


def _media_type(scope: Scope) -> bytes:
    return header(scope, b"content-type").split(b";")[0].strip().lower()


def request_id_of(scope: Scope) -> str:
    """Takes over the caller's id if it is harmless in a header and a log, else makes one."""
    given = header(scope, b"x-request-id").decode("latin-1")
    return given if given and REQUEST_ID.fullmatch(given) else new_request_id()


def note(scope: Scope, error: errors.ServiceError) -> None:
    """Leave the code of a refusal for the one line that tells of the request."""
    scope.setdefault("state", {})["code"] = error.code


async def busy(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers in the application's place when too many requests are under way."""
    error = errors.Unavailable("too many requests are under way")
    request_id = request_id_of(scope)
    scope.setdefault("state", {})["request_id"] = request_id
    note(scope, error)
    body = problem(error, request_id=request_id)
    retry = (b"retry-after", b"%d" % (error.retry_after or 1))
    headers = [*problem_headers(body, request_id), retry, (b"connection", b"close")]
    await send({"type": "http.response.start", "status": error.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


class Limits:
    """Wraps the whole application, error pages included, so that no answer leaves without a request id."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        upload_bytes: int,
        json_bytes: int = MEBI,
        predict_bytes: int = 8 * MEBI,
        most: int = 200,
    ) -> None:
        self.app = app
        self.most = most  # requests under way; more would wait so long that "try again" is the kinder answer
        self.under_way = 0
        self.json_bytes, self.predict_bytes, self.upload_bytes = json_bytes, predict_bytes, upload_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        limit, quick = self._allowed(scope)
        if quick and self.under_way >= self.most:
            await busy(scope, receive, send)
            return
        exchange = scope[PLACE] = Exchange(scope, receive, send, limit=limit)
        scope.setdefault("state", {})["request_id"] = exchange.request_id
        tokens = structlog.contextvars.bind_contextvars(request_id=exchange.request_id)
        self.under_way += quick
        try:
            await exchange.run(self.app)
        finally:
            self.under_way -= quick
            del scope[PLACE]  # each holds the other: the collector of cycles would have to come
            structlog.contextvars.reset_contextvars(**tokens)

    def _allowed(self, scope: Scope) -> tuple[int, bool]:
        """The bytes that a body may have, and whether its answer is expected at once.

        Streams of events and uploads last as long as their clients wish, and wait more than they work.
        """
        path: str = scope["path"]
        predicts = path == "/predict"
        if (predicts and _media_type(scope) == NDJSON) or _is_upload(scope):
            return self.upload_bytes, False
        if (predicts and scope["method"] == "POST") or (speaks_oip(path) and path.endswith("/infer")):
            return self.predict_bytes, True
        return self.json_bytes, not path.endswith("/events")


def speaks_oip(path: str) -> bool:
    """Whether a path is of the Open Inference Protocol, whose errors look otherwise."""
    return path == "/v2" or path.startswith("/v2/")


def _is_upload(scope: Scope) -> bool:
    """A dataset, or rows to predict as a file; JSON at the same address only names a dataset."""
    if scope["method"] != "POST" or scope["path"] != "/predictions":
        return bool(scope["method"] == "POST" and scope["path"] == "/datasets")
    kind = _media_type(scope)
    return not (kind == b"application/json" or kind.endswith(b"+json"))


class Exchange:
    """One request and its answer: counts what comes in, marks what goes out."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, *, limit: int) -> None:
        self.scope = scope
        self.inner_receive = receive
        self.inner_send = send
        self.limit = limit
        self.received = 0
        self.started = False  # the application has begun its answer
        self.refused = False  # we have answered in its place
        self.request_id = request_id_of(scope)
        self.extra: list[tuple[bytes, bytes]] = []  # headers that the layers inside add to the answer

    async def run(self, app: ASGIApp) -> None:
        media_type = _media_type(self.scope)
        declared = header(self.scope, b"content-length")
        if media_type in FORMS:
            await self.refuse_form(media_type.decode("ascii"))
        elif declared.isdigit() and int(declared[:20]) > self.limit:
            await self.refuse_size()
        else:
            try:
                await app(self.scope, self.receive, self.send)
            except ClientDisconnect:
                if not self.refused:
                    log.info("client_left", received=self.received)
            except asyncio.CancelledError:  # the service stops and has waited long enough
                if not self.started and not self.refused:
                    await self.refuse(errors.Unavailable("the service is stopping: try again"))

    async def receive(self) -> Message:
        """Hands on a message; past the limit it answers 413 and tells the application that nobody listens."""
        if self.refused:
            return {"type": "http.disconnect"}
        message = await self.inner_receive()
        self.received += len(message.get("body", b""))
        if self.received <= self.limit:
            return message
        if not self.started:
            await self.refuse_size()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        if self.refused:
            return
        if message["type"] == "http.response.start":
            self.started = True
            kept = [(name, value) for name, value in message.get("headers", []) if name != b"x-request-id"]
            mark = (b"x-request-id", self.request_id.encode("ascii"))
            headers = secured([*kept, mark, *self.extra], self.scope.get("scheme", "http"))
            message = {**message, "headers": headers}
        await self.inner_send(message)

    async def refuse_form(self, media_type: str) -> None:
        detail = (
            f"{media_type} is not accepted; send a file as the raw body and JSON as application/json "
            "(with curl: -T FILE, or --json)"
        )
        await self.refuse(errors.Unsupported(detail))

    async def refuse_size(self) -> None:
        await self.refuse(errors.TooLarge(f"the body may have at most {self.limit} bytes here"))

    async def refuse(self, error: errors.ServiceError) -> None:
        self.refused = True
        note(self.scope, error)
        body = problem(error, request_id=self.request_id)
        headers = problem_headers(body, self.request_id)
        if speaks_oip(self.scope["path"]):
            body = orjson.dumps({"error": str(error)})
            headers = problem_headers(body, self.request_id)
            headers[0] = (b"content-type", b"application/json")
        if error.retry_after is not None:
            headers.append((b"retry-after", b"%d" % error.retry_after))
        await self.inner_send({"type": "http.response.start", "status": error.status, "headers": headers})
        await self.inner_send({"type": "http.response.body", "body": body})
