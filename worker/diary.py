"""What a child's log says: lines like those of its supervisor, with the same ids in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import structlog

from app.core import logs, tracing

if TYPE_CHECKING:
    from app.core.settings import Settings  # of no use to a child, and slow to load


def told(settings: Settings) -> dict[str, Any]:
    """What a child must know to write as we do; the ids are those of the job in hand."""
    ids = structlog.contextvars.get_contextvars()
    return {"level": settings.log_level, "format": settings.log_format, "ids": ids, "parent": tracing.here()}


def begin(told: dict[str, Any], service: str) -> str | None:
    """Write as told; returns the place in the trace that the child's own spans belong to."""
    logs.configure(told.get("level", "info"), told.get("format", "auto"))
    structlog.contextvars.bind_contextvars(**told.get("ids", {}))
    tracing.configure(service)
    parent: str | None = told.get("parent")
    return parent
