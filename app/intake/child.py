"""The process that reads one file: bound first, then it loads what it needs; `python -m app.intake.child`.

It takes one JSON object on stdin and answers one on stdout: {"ok": report}, {"refused": reasons} or {"error": code}.
"""

import errno
import json
import os
import sys
import time
import traceback
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from app.intake import limits as walls
from app.intake import options as chosen
from app.intake import reading, refusal


def main() -> None:
    """Read the file that stdin names and say what came of it."""
    request = json.loads(sys.stdin.buffer.read())
    limits = chosen.Limits.model_validate(request["limits"])
    walls.apply(limits, request["parent"])
    answer = os.dup(1)
    os.dup2(2, 1)  # whatever a library prints is no answer
    said = _said(request, limits)
    os.write(answer, json.dumps(said).encode())


def _said(request: dict[str, Any], limits: chosen.Limits) -> dict[str, Any]:
    options = chosen.Options.model_validate(request["options"])
    try:
        card = Path(request["card"]) if "card" in request else None
        found = ingest(Path(request["source"]), Path(request["target"]), options, limits, card=card)
        return {"ok": found.model_dump(mode="json")}
    except refusal.Refused as exc:
        return {"refused": exc.reasons}
    except OSError as exc:
        if exc.errno in (errno.ENOSPC, errno.EDQUOT) or "requested and" in str(exc):  # NumPy drops the number
            return {"error": reading.NO_SPACE}
        raise
    except Exception:  # a reader's own failure is the file's fault, but ours to look into
        traceback.print_exc()
        detail = "the file makes its reader fail; it is damaged, or not what it seems"
        return {"refused": refusal.refuse("unreadable", detail).reasons}


def ingest(
    source: Path, target: Path, options: chosen.Options, limits: chosen.Limits, *, card: Path | None = None
) -> BaseModel:
    """Read the file into the folder `target`, with a card as that model's inputs; what is wrong is `Refused`."""
    started = time.monotonic()
    try:
        if card is not None:
            from app.intake import unlabelled

            return unlabelled.ingest(source, target, options, limits=limits, card=card)
        from app.intake import reader

        return reader.ingest(source, target, options, limits=limits, started=started)
    except refusal.Refused:
        raise
    except MemoryError as exc:
        raise reading.too_much_memory(limits) from exc
    except (OSError, ImportError) as exc:
        if _starved(exc):
            raise reading.too_much_memory(limits) from exc
        if isinstance(exc, OSError) and exc.errno == errno.EFBIG:
            raise refusal.refuse("too_large", f"the dataset takes more than {limits.bytes} bytes") from exc
        raise


def _starved(exc: Exception) -> bool:
    """Whether there was no memory left to load or to map something."""
    sign = str(exc)
    return getattr(exc, "errno", None) == errno.ENOMEM or "allocate memory" in sign or "map segment" in sign


if __name__ == "__main__":
    main()
