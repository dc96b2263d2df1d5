"""The outermost layer: every request is counted, timed and told in one line, whatever answers it."""

import time
from collections.abc import Callable
from typing import Any

import structlog
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.core import metrics, tracing

PROBES = frozenset({"/livez", "/readyz", "/metrics"})  # asked every few seconds: told on level debug
NO_ROUTE = "none"  # a path that nothing answers must not become a name of its own
LEFT = 499  # the client went away before an answer began

log = structlog.get_logger("c2s.access")
Tell = Callable[[dict[str, Any]], None]


def tell(facts: dict[str, Any]) -> None:
    """Tell of a request by the common way."""
    log.info("request", **facts)


class Watched:
    """Says method, route, status, seconds and the code of a refusal; never a path, a query or a body."""

    def __init__(self, app: ASGIApp, tell: Tell = tell) -> None:
        self._app, self._tell = app, tell

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status, began = LEFT, time.perf_counter()

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            if tracing.tracer is None:
                await self._app(scope, receive, watched)
            else:
                await self._traced(scope, receive, watched)
        finally:
            self._note(scope, status, time.perf_counter() - began)

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        method, route = scope["method"], route_of(scope)
        metrics.request(method, route, status, seconds)
        state = scope.get("state", {})
        facts = {
            "method": method,
            "route": route,
            "status": status,
            "seconds": round(seconds, 6),
            "request_id": state.get("request_id"),
        }
        if "code" in state:  # it was refused: why is part of the same line
            facts["code"] = state["code"]
        if route in PROBES:
            log.debug("request", **facts)
        else:
            self._tell(facts)

    async def _traced(self, scope: Scope, receive: Receive, send: Send) -> None:
        parent = next((value for name, value in scope["headers"] if name == b"traceparent"), b"")
        method = scope["method"] if scope["method"] in metrics.METHODS else "other"
        with tracing.span(method, parent.decode("latin-1") or None) as span:
            await self._app(scope, receive, send)
            if span is not None:
                span.update_name(f"{method} {route_of(scope)}")


def route_of(scope: Scope) -> str:
    """The template of the route that took the request."""
    return getattr(scope.get("route"), "path", NO_ROUTE)
