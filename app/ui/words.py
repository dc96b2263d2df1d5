"""Numbers and times as people read them, for templates."""

import datetime
import re
from collections.abc import Iterable
from typing import Any

import numpy as np
from markupsafe import Markup

from c2s.drawing import drawings

PHASES = ("loading", "stage1", "transition", "stage2", "evaluation", "packaging")
KIBI = 1024.0
RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]")
NONE = "\N{EN DASH}"  # where there is nothing to say


def percent(share: float | None, digits: int = 1) -> str:
    """0.4 as 40.0 %."""
    return NONE if share is None else f"{100 * share:.{digits}f} %"


def number(value: float | None, digits: int = 3) -> str:
    """A number with few digits, a whole one with all."""
    if value is None:
        return NONE
    return f"{value:,}" if isinstance(value, int) else f"{value:.{digits}f}"


def size(count: int | None) -> str:
    """Bytes in the unit that suits them."""
    left = float(count or 0)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if left < KIBI:
            return f"{left:.0f} {unit}" if unit == "B" else f"{left:.1f} {unit}"
        left /= KIBI
    return f"{left:.1f} TiB"


def duration(seconds: float | None) -> str:
    """Seconds as 1 h 02 min."""
    if seconds is None:
        return NONE
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest:02} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"


def moment(text: str | None) -> str:
    """An RFC 3339 time as 2026-01-31 12:00 UTC."""
    return NONE if text is None else text[:16].replace("T", " ") + " UTC"


def ago(text: str) -> str:
    """How long ago an RFC 3339 time was; clocks may differ by a little."""
    past = datetime.datetime.now(datetime.UTC) - datetime.datetime.fromisoformat(text)
    return f"{duration(max(0.0, past.total_seconds()))} ago"


def clock(at: float) -> str:
    """Seconds since 1970 as 12:00:00, UTC."""
    return datetime.datetime.fromtimestamp(at, datetime.UTC).strftime("%H:%M:%S")


def day(at: float) -> str:
    """Seconds since 1970 as 2026-01-31; a date may lie anywhere."""
    return str(np.datetime64(round(at), "s").astype("datetime64[D]"))


def lasted(job: Any) -> str:
    """How long a job that ended ran."""
    if job.started_at is None or job.finished_at is None:
        return NONE
    ends = [datetime.datetime.fromisoformat(moment) for moment in (job.started_at, job.finished_at)]
    return duration((ends[1] - ends[0]).total_seconds())


def choice(config: dict[str, Any], part: str) -> str:
    """The name of a job's method or net."""
    return str((config.get(part) or {}).get("name", NONE))


def worker(owner: str | None) -> str:
    """A worker's host and process, out of all that tells it from others."""
    parts = (owner or "").split(":")
    return NONE if len(parts) < 3 else f"{parts[0]}, process {parts[-2]}"


def event(kind: str, data: dict[str, Any]) -> str:
    """What happened, as a line of a log."""
    if kind in ("epoch", "checkpoint"):
        steps = [data.get("phase"), data.get("step") if data.get("step") != data.get("phase") else None]
        of = f"/{data['epochs']}" if data.get("epochs") else ""
        figures = [_fact(name, value) for name, value in (data.get("metrics") or {}).items()]
        kept = [f"kept, {size(data['bytes'])}"] if data.get("bytes") else []
        return " ".join([*map(str, filter(None, steps)), f"epoch {data.get('epoch')}{of}", *figures, *kept])
    said = [_fact(name, value) for name, value in data.items() if value is not None and name != "error"]
    error = data.get("error") or {}
    return " ".join([kind, *said, *([f"{error['code']}: {error['message']}"] if error else [])])


def _fact(name: str, value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(_fact(inner, one) for inner, one in value.items())
    if name in ("state", "phase", "message"):
        return str(value)
    return f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}"


def own(text: object) -> Markup:
    """A user's string inside a sentence or a cell of ours: from right to left or not, it moves nothing around it."""
    return Markup("<bdi>{}</bdi>").format(text)


def naming(sentence: str, names: Iterable[str]) -> Markup:
    """A sentence of ours with users' names in it, of which those that run from right to left are set apart."""
    turned = sorted((re.escape(name) for name in names if RIGHT_TO_LEFT.search(name)), key=len, reverse=True)
    parts = re.split(f"({'|'.join(turned)})", sentence) if turned else [sentence]
    return Markup("").join(own(part) if place % 2 else part for place, part in enumerate(parts))


FILTERS = {
    "own": own,
    "naming": naming,
    "apart": drawings.apart,  # the same where no element can stand: in attributes, titles and options
    "worker": worker,
    "percent": percent,
    "number": number,
    "size": size,
    "duration": duration,
    "moment": moment,
    "ago": ago,
    "lasted": lasted,
    "choice": choice,
}
