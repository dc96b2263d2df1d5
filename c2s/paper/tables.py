"""A table of texts, and its two looks: in the terminal and in Markdown."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import rich.table

NOT_RUN = "not run"


@dataclass(frozen=True)
class Table:
    """Texts in rows; a text may have several lines."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


def to_rich(table: Table) -> rich.table.Table:
    """The table as the terminal shows it."""
    shown = rich.table.Table(title=table.title, caption=table.note or None, show_lines=True)
    for number, column in enumerate(table.columns):
        shown.add_column(column, no_wrap=number == 0)
    for row in table.rows:
        shown.add_row(*row)
    return shown


def to_markdown(table: Table) -> str:
    """The table as a document shows it."""
    lines = [f"### {table.title}", "", _line(table.columns), _line(["---"] * len(table.columns))]
    lines += [_line(row) for row in table.rows]
    return "\n".join([*lines, *(["", table.note] if table.note else []), ""])


def _line(texts: Sequence[str]) -> str:
    return "| " + " | ".join(text.replace("|", "\\|").replace("\n", "<br>") for text in texts) + " |"


def mean(rows: Sequence[dict[str, Any]], measure: str) -> float | None:
    """The mean of a measure in percent over the runs that have it."""
    values = [100 * row[measure] for row in rows if row.get(measure) is not None]
    return statistics.fmean(values) if values else None


def summary(rows: Sequence[dict[str, Any]], measure: str) -> str:
    """Mean, deviation over runs (n - 1) and their number, in percent; one run has no deviation."""
    values = [100 * row[measure] for row in rows if row.get(measure) is not None]
    failed = len(rows) - len(values)
    parts = [] if not values else [f"{statistics.fmean(values):.2f}{_spread(values)} (n={len(values)})"]
    parts += [f"failed (n={failed})"] if failed else []
    return "\n".join(parts) or NOT_RUN


def _spread(values: Sequence[float]) -> str:
    return f" ± {statistics.stdev(values):.2f}" if len(values) > 1 else ""
