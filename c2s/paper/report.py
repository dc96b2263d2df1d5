"""Ours beside the paper's: a table a dataset and preset, with the gap, and "not run" where nothing was run."""

from pathlib import Path

import rich.console

from c2s.paper import (
    ablation,
    cells,
    estimators,
    regret,
    results,
    robustness,
    runs,
    settings,
    sources,
    tables,
)

Group = tuple[str, str, int | None]  # dataset, preset, subset
# always the method's own epoch, never an earlier phase's model that a run fell back to
MEASURES = {"paper": "accuracy_best", "best": "accuracy_own"}


def print_tables(
    out: Path,
    *,
    datasets: tuple[str, ...] = (),
    measure: str | None = None,
    console: rich.console.Console | None = None,
) -> None:
    """Print every table the results under `out` allow."""
    shown = console or rich.console.Console()
    for table in build(results.read(out / runs.RESULTS), datasets=datasets, measure=measure):
        shown.print(tables.to_rich(table))


def build(
    rows: list[results.Row], *, datasets: tuple[str, ...] = (), measure: str | None = None
) -> list[tables.Table]:
    """The comparison of each dataset and preset; regret, clean labels, perturbed matrices and estimators beside."""
    rows = results.newest([row for row in rows if not datasets or row["dataset"] in datasets])
    estimated = [row for row in rows if row["eta"] is None]
    found = [_comparison(group, estimated, measure) for group in _groups(estimated, datasets)]
    beside = (regret, ablation, robustness, estimators)
    return [*found, *(table for kind in beside for table in kind.tables_of(rows))]


def _groups(rows: list[results.Row], datasets: tuple[str, ...]) -> list[Group]:
    """Those with rows, in the order of the paper; with none at all, every dataset that was asked for."""
    order = list(sources.LOADERS)
    found = {(row["dataset"], row["preset"], row["subset"]) for row in rows if row["noise"] != cells.CLEAN}
    missing = set(datasets or (() if found else order)) - {dataset for dataset, _, _ in found}
    found |= {(dataset, "paper", None) for dataset in missing}
    return sorted(found, key=lambda group: (order.index(group[0]), group[1], group[2] or 0))


def _comparison(group: Group, rows: list[results.Row], measure: str | None) -> tables.Table:
    dataset, preset, subset = group
    mine = [row for row in rows if (row["dataset"], row["preset"], row["subset"]) == group]
    noises = _noises(dataset, mine)
    printed = cells.methods(dataset, noises) or settings.METHODS
    others = {row["method"] for row in mine} - {*printed}
    methods = [*printed, *sorted(others, key=settings.METHODS.index)]
    chosen = measure or MEASURES[preset]
    lines = []
    for method in methods:
        texts = []
        for noise in noises:
            cell = [row for row in mine if (row["noise"], row["method"]) == (noise, method)]
            paper = cells.find(dataset, noise, method) if subset is None else None
            texts.append(_text(cell, paper, chosen))
        lines.append((method, *texts))
    title = f"{dataset}, preset {preset}, {chosen.replace('_', ' ')} in %"
    if subset is not None:
        title += f", first {subset} rows only: not comparable with the paper"
    note = f"{_note(dataset, methods, noises)}{_halved(mine)}"
    return tables.Table(title, ("method", *noises), tuple(lines), note)


def _noises(dataset: str, rows: list[results.Row]) -> tuple[str, ...]:
    printed = (cells.REAL,) if dataset == "clothing1m" else cells.NOISES if cells.methods(dataset) else ()
    others = sorted({row["noise"] for row in rows} - {*printed, cells.CLEAN})
    return (*printed, *others)


def _text(rows: list[results.Row], paper: cells.Cell | None, measure: str) -> str:
    lines = [tables.summary(rows, measure)]
    ours = tables.mean(rows, measure)
    if paper is not None:
        spread = "" if paper.deviation is None else f" ± {paper.deviation:.2f}"
        lines.append(f"paper {paper.mean:.2f}{spread}{'?' if paper.doubtful else ''}")
        lines += [] if ours is None else [f"gap {ours - paper.mean:+.2f}"]
    fallen = sum(map(results.fell_back, rows))
    if fallen:
        lines.append(f"fell back {fallen} of {len(rows)}: {tables.mean(rows, 'accuracy'):.2f}")
    return "\n".join(lines)


def _halved(rows: list[results.Row]) -> str:
    """How many runs were not computed in float32 throughout; older lines name no precision, as there was no other."""
    count = sum(row.get("precision") == "bfloat16" for row in rows)
    return f" {count} of {len(rows)} runs computed in bfloat16." if count else ""


def _note(dataset: str, methods: list[str], noises: tuple[str, ...]) -> str:
    found = [cells.find(dataset, noise, method) for method in methods for noise in noises]
    notes = ["n: seeds. fell back: a run kept an earlier phase's model; the accuracy with it."]
    if any(cell is not None and cell.doubtful for cell in found):
        notes.append("? contradicts its neighbours in the paper.")
    return " ".join(notes)
