"""Rows of a file that cannot be used: what is wrong with each and where it stands, and how many are too many."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from c2s import errors

SHARE = 0.2  # of a file's rows: more that cannot be used are no slips, and refuse it
NAMED = 5  # rows that a refusal names

Code = Literal["bad_gold", "bad_json", "missing_label", "nested", "not_finite", "wrong_width"]


@dataclass(frozen=True)
class LeftOut:
    """A row that was left out; a line counts from 1 as in an editor, a row from 0 as row ids do."""

    code: Code
    detail: str
    line: int | None = None
    row: int | None = None

    def __str__(self) -> str:
        place = f"line {self.line}" if self.line is not None else f"row {self.row}"
        return f"{place}: {self.detail}"


def check(rows: Sequence[LeftOut], kept: int, *, share: float = SHARE) -> None:
    """Refuse a file of which too much, or all, would be left out."""
    whole = kept + len(rows)
    if kept and len(rows) <= share * whole:
        return
    some = "; ".join(map(str, ordered(rows)[:NAMED])) + ("; ..." if len(rows) > NAMED else "")
    over = f", over {share:.0%}" if share else ""
    raise errors.InvalidDataset(f"{len(rows)} of {whole} rows cannot be used{over}: {some}")


def ordered(rows: Sequence[LeftOut]) -> list[LeftOut]:
    """As they stand in the file."""
    return sorted(rows, key=lambda one: (one.line or 0, one.row or 0))
