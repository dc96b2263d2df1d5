"""Cells of any table as the columns that a model's encoding takes; a cell that does not fit is its own row's fault."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from app.intake import refusal
from app.intake.lots import Lot
from c2s.reading import columns, encoding, numerals, words

if TYPE_CHECKING:
    import pyarrow as pa

TRUTH = {"true": 1.0, "false": 0.0}


def wanted(spec: encoding.Encoding) -> list[str]:
    """The columns that the encoding reads; one that reads none takes no tables."""
    if isinstance(spec, encoding.TableEncoding):
        return [column.name for column in spec.columns]
    if isinstance(spec, words.TextEncoding):
        return [spec.column or "text"]
    if isinstance(spec, encoding.VectorEncoding) and spec.columns is not None:
        return list(spec.columns)
    what = "pictures: send a zip of them, or an NPZ" if spec.kind == "image" else "arrays: send an NPZ"
    raise refusal.refuse("unknown_format", f"the model reads {what}")


def typed(spec: encoding.Encoding, lot: Lot, *, point: str = ".") -> dict[str, pa.ChunkedArray]:
    """The columns as Arrow; what cannot be one value of its column is noted, and missing instead."""
    import pyarrow as pa

    found: dict[str, pa.ChunkedArray] = {}
    for name in wanted(spec):
        rule, kind = _rule(spec, name, point)
        values = []
        for row, cell in enumerate(lot.cells[name]):
            try:
                values.append(rule(cell))
            except (ValueError, OverflowError) as exc:
                lot.faults.setdefault(row, f"column {name!r} {exc}")
                values.append(None)
        found[name] = pa.chunked_array([pa.array(values, kind)])
    return found


def _rule(spec: encoding.Encoding, name: str, point: str) -> tuple[Callable[[Any], Any], pa.DataType]:
    import pyarrow as pa

    if isinstance(spec, encoding.TableEncoding):
        column = next(one for one in spec.columns if one.name == name)
        if isinstance(column, columns.Number):
            if column.time:
                return _moment, pa.timestamp("s")
            rule = _loose if column.strays else _number
            return lambda cell: rule(cell, point), pa.float64()
    if isinstance(spec, encoding.VectorEncoding):
        return lambda cell: _present(_number(cell, point)), pa.float64()
    return _text, pa.string()


def _number(cell: Any, point: str) -> float | None:
    if isinstance(cell, str):
        cell = cell.strip()
        if cell in numerals.MISSING:
            return None
        try:
            cell = TRUTH.get(cell.lower()) if cell.lower() in TRUTH else float(cell.replace(point, "."))
        except ValueError as exc:
            raise ValueError(f"must hold numbers, not {cell[: numerals.LONGEST_SHOWN]!r}") from exc
    if cell is None:
        return None
    if not isinstance(cell, int | float | decimal.Decimal):
        raise ValueError(f"must hold numbers, not {_kind(cell)}")
    found = float(cell)
    return found if abs(found) <= columns.FLOAT32 else None  # as in the file that the model was taught by


def _loose(cell: Any, point: str) -> float | None:
    """A cell of a column in which words are missing values."""
    return _number(numerals.number(cell.replace(point, ".")) if isinstance(cell, str) else cell, point)


def _present(number: float | None) -> float:
    if number is None:
        raise ValueError("holds nothing, and the model knows no missing numbers")
    return number


def _moment(cell: Any) -> datetime.datetime | None:
    if isinstance(cell, str):
        cell = cell.strip()
        if cell in numerals.MISSING:
            return None
        try:
            cell = datetime.datetime.fromisoformat(cell)
        except ValueError as exc:
            raise ValueError(f"must hold dates, not {cell[: numerals.LONGEST_SHOWN]!r}") from exc
    if cell is None:
        return None
    if isinstance(cell, datetime.datetime):
        return cell if cell.tzinfo is None else cell.astimezone(datetime.UTC).replace(tzinfo=None)
    if isinstance(cell, datetime.date):
        return datetime.datetime(cell.year, cell.month, cell.day)
    raise ValueError(f"must hold dates, not {_kind(cell)}")


def _text(cell: Any) -> str | None:
    if cell is None or isinstance(cell, str):
        return cell
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))  # as Arrow writes it
    if isinstance(cell, int | float | decimal.Decimal | datetime.date):
        return str(cell)
    raise ValueError(f"must hold one value a row, not {_kind(cell)}")


def _kind(cell: Any) -> str:
    return "a list" if isinstance(cell, list) else "an object" if isinstance(cell, dict) else "bytes"
