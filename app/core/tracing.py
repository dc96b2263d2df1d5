"""Where work comes from: the request's id, and traces (OpenTelemetry) for those who installed and configured them.

Off, it loads nothing and costs a comparison. On, a job's spans hang below the request that made it: the row carries
the context to the worker, and the worker hands it to its child.
"""

import contextlib
import importlib.util
import os
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import structlog

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span, Tracer

ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
FLUSH_SECONDS = 3.0  # a collector that is away holds nobody up for longer
PARENT = "traceparent"
log = structlog.get_logger("c2s.tracing")

tracer: "Tracer | None" = None  # None: off
_provider: "TracerProvider | None" = None


def configure(service: str) -> None:
    """Turn traces on in this process, after all forks, if its environment names a collector."""
    global tracer, _provider
    if not any(os.environ.get(name) for name in ENDPOINTS):
        return
    if not _installed():
        log.warning("tracing_not_installed", hint="install c2s[otel], or unset the endpoint")
        return
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    _provider = TracerProvider(resource=Resource.create({"service.name": service}))
    _provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    tracer = _provider.get_tracer("c2s")


def _installed() -> bool:
    try:
        return importlib.util.find_spec("opentelemetry.exporter.otlp.proto.http") is not None
    except ModuleNotFoundError:  # of a package above it
        return False


def origin() -> dict[str, Any]:
    """Who asks, for a row to carry: the id of the request under way and, with traces, its place in one."""
    known: dict[str, Any] = {"request_id": structlog.contextvars.get_contextvars().get("request_id")}
    return known if tracer is None else known | {PARENT: here(), "at": time.time()}


def here() -> str | None:
    """The place of the current span, as W3C writes it."""
    if tracer is None:
        return None
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    carrier: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(carrier)
    return carrier.get(PARENT)


@contextlib.contextmanager
def span(
    name: str, parent: str | None = None, *, began: float | None = None, **facts: str | int
) -> Iterator["Span | None"]:
    """Time what happens in the block; `parent` is a place that `here` gave, `began` seconds since 1970."""
    if tracer is None:
        yield None
        return
    with tracer.start_as_current_span(
        name, context=_context(parent), attributes=facts, start_time=_nanoseconds(began)
    ) as current:
        yield current


def past(name: str, parent: str | None = None, *, began: float) -> None:
    """Tell of something that began earlier and ends now."""
    begin(name, parent, began=began)()


def begin(name: str, parent: str | None = None, *, began: float | None = None) -> Callable[[], None]:
    """Something begins here; the answer is how to end it."""
    if tracer is None:
        return lambda: None
    return tracer.start_span(name, context=_context(parent), start_time=_nanoseconds(began)).end


def close() -> None:
    """Send what is not sent yet; the collector has a few seconds for it."""
    if _provider is not None:
        sending = threading.Thread(target=_provider.force_flush, daemon=True)
        sending.start()
        sending.join(FLUSH_SECONDS)


def _context(parent: str | None) -> "Context | None":
    if parent is None:
        return None  # the current one
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    return TraceContextTextMapPropagator().extract({PARENT: parent})


def _nanoseconds(seconds: float | None) -> int | None:
    return None if seconds is None else int(seconds * 1e9)
