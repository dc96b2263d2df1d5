"""Logs on standard error: one JSON object a line, or text for a person; facts as fields, never as a format.

Lines of other libraries come out the same way, and no line leaves with a secret of this process in it.
"""

import asyncio
import contextlib
import functools
import json
import logging
import sys
import time
from collections.abc import MutableMapping, Sequence
from typing import Any, Literal, TextIO, cast

import orjson
import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

Format = Literal["auto", "json", "console"]
HIDDEN = "[hidden]"
SECRET_NAMES = frozenset({"token", "password", "authorization", "cookie", "secret", "key"})
SHORTEST_SECRET = 6  # hiding shorter ones would spoil ordinary words


class Bearing:
    """Standard error that may be lost: a log on a full disk must not fail what it tells of."""

    def __init__(self, to: TextIO) -> None:
        self._to = to

    def write(self, text: str) -> int:
        """Write what can be written."""
        try:
            return self._to.write(text)
        except OSError:
            return 0

    def flush(self) -> None:
        """Flush what can be flushed."""
        with contextlib.suppress(OSError):
            self._to.flush()


def configure(
    level: str, form: Format = "auto", *, hidden: Sequence[str] = (), stream: TextIO | None = None
) -> None:
    """Set logging up for this process; `hidden` are secrets that no line may hold."""
    stream = stream or sys.stderr
    bearing = cast(TextIO, Bearing(stream))
    number = getattr(logging, level.upper())
    first: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _hide_by_name,
    ]
    last: list[Processor] = [*_last(_for_a_person(form, stream)), _Veil(hidden)]
    structlog.configure(
        processors=[*first, *last],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.WriteLoggerFactory(bearing),
        cache_logger_on_first_use=True,
    )
    _adopt_others(max(number, logging.WARNING), first, last, bearing)


class Often:
    """Lines of one event that comes too often for the common way: the same line, written once a turn of the loop."""

    def __init__(self, event: str, hidden: Sequence[str] = (), stream: TextIO | None = None) -> None:
        self._event, self._veil, self._to = event, _Veil(hidden), Bearing(stream or sys.stderr)
        self._lines: list[str] = []

    def __call__(self, facts: dict[str, Any]) -> None:
        """Tell of the event; its facts have names of ours, none of them that of a secret."""
        if not self._lines:
            asyncio.get_running_loop().call_soon(self._write)
        line = _dumps({**facts, "event": self._event, "level": "info", "timestamp": _now()})
        self._lines.append(self._veil(None, "info", line))

    def _write(self) -> None:
        lines, self._lines = self._lines, []
        self._to.write("\n".join([*lines, ""]))
        self._to.flush()


def often(
    event: str,
    level: str,
    form: Format = "auto",
    *,
    hidden: Sequence[str] = (),
    stream: TextIO | None = None,
) -> Often | None:
    """The short way for an event of level info, where lines are JSON and show that level."""
    shown = getattr(logging, level.upper()) <= logging.INFO
    person = _for_a_person(form, stream or sys.stderr)
    return Often(event, hidden, stream) if shown and not person else None


def _now() -> str:
    """The time as every line has it."""
    seconds, rest = divmod(time.time_ns() // 1000, 1_000_000)
    return f"{_second(seconds)}.{rest:06d}Z"


@functools.lru_cache(2)
def _second(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))


def _for_a_person(form: Format, stream: TextIO) -> bool:
    return form == "console" or (form == "auto" and stream.isatty())


def _adopt_others(level: int, first: list[Processor], last: list[Processor], stream: TextIO) -> None:
    """Give the lines of uvicorn, Celery and Python's own warnings the same form."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*first, structlog.stdlib.add_logger_name],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *last],
        )
    )
    logging.basicConfig(level=level, handlers=[handler], force=True)
    logging.captureWarnings(capture=True)


def _last(for_a_person: bool) -> list[Processor]:
    if not for_a_person:
        return [structlog.processors.format_exc_info, structlog.processors.JSONRenderer(_dumps)]
    plain = structlog.dev.plain_traceback  # the default one shows local variables, and secrets among them
    return [_printable, structlog.dev.ConsoleRenderer(exception_formatter=plain, repr_native_str=True)]


def _dumps(facts: EventDict, **how: Any) -> str:
    """A line; what only Python's own writer can write is left to it."""
    try:
        return orjson.dumps(facts, default=how.get("default")).decode()
    except TypeError:  # a number without bound, half a character
        return json.dumps(facts, **how)


def _hide_by_name(_logger: WrappedLogger, _method: str, facts: EventDict) -> EventDict:
    for name in SECRET_NAMES & facts.keys():
        facts[name] = HIDDEN
    return facts


def _printable(
    _logger: WrappedLogger, _method: str, facts: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    """Show what would command a terminal instead of doing it."""
    for name, value in facts.items():
        if isinstance(value, str) and not value.isprintable():
            facts[name] = "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in value)
    return facts


class _Veil:
    """Takes known secrets out of a finished line, wherever they came from."""

    def __init__(self, secrets: Sequence[str]) -> None:
        self._secrets = tuple(secret for secret in secrets if len(secret) >= SHORTEST_SECRET)

    def __call__(self, _logger: WrappedLogger, _method: str, line: Any) -> Any:
        for secret in self._secrets:
            line = line.replace(secret, HIDDEN)
        return line
