"""A second look at JSON lines that Arrow refuses: which of them are at fault, and the others in a tidy file."""

import json
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from c2s import errors
from c2s.reading import commas
from c2s.reading.columns import FLOAT32
from c2s.reading.leftout import LeftOut

BOM = b"\xef\xbb\xbf"
LARGEST = 2**63  # integers from here on are floats
HALF = b"\\ud"  # how a line may write half a character


class Unfit(errors.InvalidDataset):
    """A file of lines that cannot be used as a whole: why, where, and the lines that are to blame."""

    def __init__(
        self,
        message: str,
        code: Literal["too_many_refused", "too_many_columns", "nested", "row_too_long"],
        *,
        line: int | None = None,
        field: str | None = None,
        rows: Sequence[LeftOut] = (),
    ) -> None:
        super().__init__(message, field=field)
        self.code, self.line, self.rows = code, line, tuple(rows)


def filled(path: Path) -> Iterator[int]:
    """The numbers of the lines that hold anything."""
    return (number for number, _ in lines(path))


def tidy(path: Path, target: Path, *, columns: int, share: float) -> tuple[list[LeftOut], set[str]]:
    """Write the objects among the lines to `target`, each column of one type: what is left out, and what was mixed."""
    seen = _scan(path, columns)
    if not seen.types:
        raise Unfit("no line is a JSON object", "too_many_refused", rows=seen.faults)
    faults = [*seen.faults, *_nested(seen, share)]
    gone = {fault.line for fault in faults}
    mixed = {
        name for name, kinds in seen.types.items() if len({_family(kind) for kind in kinds} - {None}) > 1
    }
    with target.open("w", encoding="utf-8", newline="\n") as file:
        for number, line in lines(path):
            if number not in gone and isinstance(found := parsed(line), dict):
                plain = {name: _value(found[name], name in mixed) for name in found}
                file.write(json.dumps(plain, ensure_ascii=False) + "\n")
    return faults, mixed


@dataclass
class _Seen:
    """What a first pass over the lines finds."""

    faults: list[LeftOut] = field(default_factory=list)
    types: dict[str, set[type]] = field(default_factory=lambda: defaultdict(set))  # of each column
    nested: dict[str, list[int]] = field(
        default_factory=lambda: defaultdict(list)
    )  # lines without a single value
    objects: int = 0


def _scan(path: Path, columns: int) -> _Seen:
    seen = _Seen()
    for number, line in lines(path):
        found = parsed(line)
        if isinstance(found, str):
            seen.faults.append(LeftOut("bad_json", found, line=number))
            continue
        seen.objects += 1
        for name, value in found.items():
            seen.types[name].add(type(value))
            if isinstance(value, dict | list):
                seen.nested[name].append(number)
        if len(seen.types) > columns:
            raise Unfit(f"a table has at most {columns} columns", "too_many_columns", line=number)
    return seen


def _nested(seen: _Seen, share: float) -> list[LeftOut]:
    """The lines to leave out, one fault each; a column that is mostly nested is no slip and refuses the file."""
    faults: dict[int, LeftOut] = {}
    for name, numbers in seen.nested.items():
        detail = f"{name[:256]!r} holds a list or an object: one value a row is needed"
        if len(numbers) > share * seen.objects:
            raise Unfit(detail, "nested", field=name)
        for number in numbers:
            faults.setdefault(number, LeftOut("nested", detail, line=number))
    return list(faults.values())


def lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines that hold anything, numbered from 1; one that is too long refuses the file."""
    with path.open("rb") as file:
        number = 0
        while line := file.readline(commas.BLOCK):
            number += 1
            if len(line) == commas.BLOCK:
                detail = f"line {number} is longer than {commas.BLOCK} bytes"
                raise Unfit(detail, "row_too_long", line=number)
            if plain := line.removeprefix(BOM).strip() if number == 1 else line.strip():
                yield number, plain


def parsed(line: bytes) -> dict[str, Any] | str:
    """The object on a line, or what is wrong with it; NaN, which Python writes, is a number."""
    try:
        found = json.loads(line.decode())
        if HALF in line.lower():
            json.dumps(found, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return "the line holds half a character (a lone surrogate)"
    except UnicodeDecodeError:
        return "the line is not UTF-8"
    except json.JSONDecodeError as exc:
        return f"the line is no JSON from its character {exc.pos + 1} on"
    except RecursionError:
        return "the line is nested too deeply"
    except ValueError:  # Python's limit to the digits of an integer
        return "the line holds a number that is too long"
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
    if isinstance(value, int) and abs(value) >= LARGEST:
        return float(value) if abs(value) <= FLOAT32 else None
    return value
