"""How a CSV file is written: what separates its cells, how it writes numbers, where its rows begin and quotes end."""

import contextlib
import csv
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from c2s import errors

BLOCK = 2**26  # bytes: the longest row that a text file may have
MOST_COLUMNS = 4096
SAMPLE = 2**16  # bytes that show how numbers are written
CHUNK = 2**20  # bytes
NUMBER = rb"(?<![\d.,])-?\d+%b\d+(?![\d.,])"  # with the sign between whole and fraction


def delimiter(path: Path) -> str:
    """Comma, semicolon or tab, whichever the header has most of."""
    with path.open("rb") as file:
        header = file.readline(BLOCK)
    if b"\0" in header:
        raise errors.InvalidDataset(f"{path.name}: the file is not UTF-8, save it in that encoding")
    best = max(",;\t", key=lambda sign: header.count(sign.encode()))
    if header.count(best.encode()) >= MOST_COLUMNS:
        raise errors.InvalidDataset(
            f"{path.name}: a table has at most {MOST_COLUMNS} columns, save numbers as NPZ"
        )
    return best


def decimal_point(path: Path, sign: str) -> str:
    """How the file writes fractions: by comma where it parts no columns and more numbers have it than a point."""
    if sign == ",":
        return "."
    with path.open("rb") as file:
        sample = file.read(SAMPLE)
    written = {point: len(re.findall(NUMBER % re.escape(point.encode()), sample)) for point in (",", ".")}
    return "," if written[","] > written["."] else "."


def check_quotes(path: Path, sign: str) -> None:
    """Refuse a quote that is not closed in its row: Arrow would take the rows after it for a part of the cell."""
    if not _has_quotes(path):
        return
    csv.field_size_limit(2 * BLOCK)
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        rows = csv.reader(file, delimiter=sign, strict=True)
        begin = 1
        while True:
            try:
                next(rows)
            except StopIteration:
                return
            except csv.Error as exc:
                endless = "unexpected end" in str(exc)
                if endless or rows.line_num > begin:  # what one line holds can hide no other row
                    raise errors.InvalidDataset(
                        f"{path.name}: line {begin} opens a quote that is not closed before the cell ends"
                    ) from exc
            begin = rows.line_num + 1


def _has_quotes(path: Path) -> bool:
    with path.open("rb") as file:
        return any(b'"' in chunk for chunk in iter(lambda: file.read(CHUNK), b""))


def lines(path: Path, sign: str) -> Iterator[int]:
    """Where each row of a CSV begins: Arrow counts neither blank lines nor those inside quotes."""
    csv.field_size_limit(2 * BLOCK)  # Arrow takes a row that reaches over two blocks
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.reader(file, delimiter=sign)
        begin = 1
        for fields in reader:
            if fields:
                yield begin
            begin = reader.line_num + 1


def place(path: Path, row: int, sign: str) -> str:
    """Where a row is, as editors count; rows count from 1, the header is the first."""
    with contextlib.suppress(csv.Error, UnicodeError, StopIteration):
        return f"line {next(islice(lines(path, sign), row - 1, None))}"
    return f"row {row}"
