"""A second look at JSON lines that Arrow refuses: which of them are at fault, and the others in a tidy file."""

import json
import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from app.intake import options as chosen
from app.intake import refusal
from c2s import commas

BOM = b"\xef\xbb\xbf"
LARGEST = 2**63  # integers from here on are floats


def filled(path: Path) -> Iterator[int]:
    """The numbers of the lines that hold anything."""
    return (number for number, _ in lines(path))


def tidy(path: Path, target: Path, limits: chosen.Limits) -> list[refusal.Reason]:
    """Write the objects among the lines to `target`, each column of one type, and answer what is left out."""
    seen = _scan(path, limits)
    if not seen.types:
        reason = refusal.reason("too_many_refused", "no line is a JSON object")
        raise refusal.Refused([reason, *seen.faults[:20]])
    faults = [*seen.faults, *_nested(seen, limits)]
    gone = {fault["line"] for fault in faults}
    mixed = {
        name for name, kinds in seen.types.items() if len({_family(kind) for kind in kinds} - {None}) > 1
    }
    with target.open("wb") as file:
        for number, line in lines(path):
            if number not in gone and isinstance(found := parsed(line), dict):
                file.write(orjson.dumps({name: _value(found[name], name in mixed) for name in found}) + b"\n")
    return faults


@dataclass
class _Seen:
    """What a first pass over the lines finds."""

    faults: list[refusal.Reason] = field(default_factory=list)
    types: dict[str, set[type]] = field(default_factory=lambda: defaultdict(set))  # of each column
    nested: dict[str, list[int]] = field(
        default_factory=lambda: defaultdict(list)
    )  # lines without a single value
    objects: int = 0


def _scan(path: Path, limits: chosen.Limits) -> _Seen:
    seen = _Seen()
    for number, line in lines(path):
        found = parsed(line)
        if isinstance(found, str):
            seen.faults.append(refusal.reason("bad_json", found, {"line": number}))
            continue
        seen.objects += 1
        for name, value in found.items():
            seen.types[name].add(type(value))
            if isinstance(value, dict | list):
                seen.nested[name].append(number)
        if len(seen.types) > limits.columns:
            detail = f"a table has at most {limits.columns} columns"
            raise refusal.refuse("too_many_columns", detail, {"line": number})
    return seen


def _nested(seen: _Seen, limits: chosen.Limits) -> list[refusal.Reason]:
    """The lines to leave out, one fault each; a column that is mostly nested is no slip and refuses the file."""
    faults: dict[int, refusal.Reason] = {}
    for name, numbers in seen.nested.items():
        detail = f"{name[:256]!r} holds a list or an object: one value a row is needed"
        if len(numbers) > limits.refused_share * seen.objects:
            raise refusal.refuse("nested", detail, {"pointer": f"/{name[:256]}"})
        for number in numbers:
            faults.setdefault(number, refusal.reason("nested", detail, {"line": number}))
    return list(faults.values())


def lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines that hold anything, numbered from 1; one that is too long refuses the file."""
    with path.open("rb") as file:
        number = 0
        while line := file.readline(commas.BLOCK):
            number += 1
            if len(line) == commas.BLOCK:
                detail = f"line {number} is longer than {commas.BLOCK} bytes"
                raise refusal.refuse("row_too_long", detail, {"line": number})
            if plain := line.removeprefix(BOM).strip() if number == 1 else line.strip():
                yield number, plain


def parsed(line: bytes) -> dict[str, Any] | str:
    """The object on a line, or what is wrong with it."""
    try:
        found = orjson.loads(line)
    except orjson.JSONDecodeError as exc:
        try:
            found = json.loads(line)  # knows NaN, which Python writes
        except (ValueError, RecursionError):
            return f"the line is no JSON: {exc.msg}"
    return found if isinstance(found, dict) else "the line is no JSON object"


def _family(kind: type) -> str | None:
    """What may share a column; None goes with everything, and what is nested is gone."""
    if kind in (type(None), dict, list):
        return None
    return "number" if kind in (int, float) else kind.__name__


def _value(value: Any, as_text: bool) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if as_text and value is not None:
        return value if isinstance(value, str) else json.dumps(value)
    return float(value) if isinstance(value, int) and abs(value) >= LARGEST else value
