"""What a choice made beforehand loses: the model that a run publishes against the best one of its column and seed."""

import statistics
from collections.abc import Iterable

from c2s.paper import cells, results, settings, tables

AUTO = "auto"
NOTE = (
    "Points that the published model is behind the best of the fixed methods run there, mean and worst (columns), over"
    " the noises and seeds at which auto was run; a choice is shown where it was run at all of these."
)
Column = dict[str, float]  # method -> accuracy in percent


def tables_of(rows: list[results.Row]) -> list[tables.Table]:
    """A column a dataset, a line a choice; none where `auto` was not run."""
    found: dict[str, list[Column]] = {}
    for dataset, column in _columns(rows):
        found.setdefault(dataset, []).append(column)
    if not found:
        return []
    lines = [(name, *(_text(name, columns) for columns in found.values())) for name in settings.METHODS]
    told = tuple(line for line in lines if any(text != tables.NOT_RUN for text in line[1:]))
    return [tables.Table("Regret of a choice, in points", ("always", *found), told, NOTE)]


def _columns(rows: list[results.Row]) -> Iterable[tuple[str, Column]]:
    grouped: dict[tuple[str, str, int], Column] = {}
    for row in rows:
        whole = row["subset"] is None and row["eta"] is None and row["preset"] == "best"
        if whole and row["noise"] != cells.CLEAN and row.get("accuracy") is not None:
            at = (row["dataset"], row["noise"], row["seed"])
            grouped.setdefault(at, {})[row["method"]] = 100 * row["accuracy"]
    return [(at[0], column) for at, column in grouped.items() if AUTO in column and len(column) > 1]


def _text(name: str, columns: list[Column]) -> str:
    if not all(name in column for column in columns):
        return tables.NOT_RUN
    lost = [
        max(score for other, score in column.items() if other != AUTO) - column[name] for column in columns
    ]
    return f"{statistics.fmean(lost):.2f}, {max(lost):.2f} ({len(lost)})"
