"""What is kept of the runs in a folder of a repository: a line of each, tables and plots.

Its lines count as finished, so that experiments of many hours can be run a part at a time, on any machine; who wants
all of it anew removes the file of lines first.
"""

from dataclasses import fields
from pathlib import Path
from typing import Any

from c2s import config, errors
from c2s.drawing import drawings
from c2s.paper import plots, report, results, runs, tables

LINES, PAGE = "paper.jsonl", "paper.md"
DIGITS = 6  # of measures: a test of 10,000 rows tells no more
HEAD = """# The paper's experiments

Made of `paper.jsonl` by `c2s paper --tables --publish`; `make paper` runs what is missing first. RESULTS.md says
what it means.
"""


def take_up(folder: Path, out: Path) -> None:
    """Let what others have run count as finished under `out`."""
    known = {row["key"] for row in results.read(out / runs.RESULTS)}
    fresh = [_known_today(row) for row in results.read(folder / LINES) if row["key"] not in known]
    fresh = [row for row in fresh if row["key"] not in known]
    if fresh:
        results.append(out / runs.RESULTS, *fresh)


def _known_today(row: results.Row) -> results.Row:
    """The line under the key that its run has today: a setting added since, at its default, makes no other run."""
    try:
        run = runs.Run(**{field.name: row[field.name] for field in fields(runs.Run)})
        given = {} if run.eta is None else {"transition": run.config.transition}
        same = config.TrainConfig.parse(row["config"] | given) == run.config
    except (KeyError, errors.InvalidConfig):  # of a setting or a recipe that is no more
        return row
    return row | {"key": run.key} if same else row


def write(folder: Path, out: Path) -> None:
    """The newest line of every run under `out`, and what they show."""
    rows = [_brief(row) for row in results.newest(results.read(out / runs.RESULTS))]
    folder.mkdir(parents=True, exist_ok=True)
    draft = folder / f"{LINES}.part"
    draft.unlink(missing_ok=True)
    results.append(draft, *rows)
    draft.replace(folder / LINES)  # a cut between the two would lose hours of others
    for name, drawing in plots.drawn(rows).items():
        (folder / f"{name}.svg").write_bytes(drawings.svg(drawing))
    (folder / PAGE).write_text(page(rows), encoding="utf-8")


def page(rows: list[results.Row]) -> str:
    """Every table and plot as Markdown."""
    shown = "\n".join(map(tables.to_markdown, report.build(rows)))
    pictures = "\n".join(f"![{drawing.title}]({name}.svg)" for name, drawing in plots.drawn(rows).items())
    return f"{HEAD}\n{shown}\n## Plots\n\n{pictures}\n"


def _brief(row: results.Row) -> results.Row:
    """The line without what no table reads, or what follows from the rest: it is kept for ever."""
    row = {name: _short(value) for name, value in row.items() if name != "epochs"}
    if row["eta"] is not None and "config" in row:  # the matrix given follows from noise, eta and seed
        row["config"] = {name: value for name, value in row["config"].items() if name != "transition"}
    return row


def _short(value: Any) -> Any:
    if isinstance(value, dict) and all(isinstance(one, float) for one in value.values()):
        return {name: _short(one) for name, one in value.items()}
    return round(value, DIGITS) if isinstance(value, float) else value
