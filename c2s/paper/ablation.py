"""The paper's last table: on clean labels, with T = identity, do pairs cost anything against cross-entropy?"""

from collections.abc import Iterable

from c2s.paper import cells, results, runs, tables

METHODS = ("ce", "mcl", "f-class2simi")


def build(
    datasets: Iterable[str] = ("mnist",),
    *,
    preset: str = "best",
    seeds: Iterable[int] = (1,),
    subset: int | None = None,
) -> list[runs.Run]:
    """Cross-entropy and both pair losses on labels as they are, the identity given."""
    grid = [(seed, dataset, method) for seed in seeds for dataset in datasets for method in METHODS]
    return [
        runs.Run(dataset, cells.CLEAN, method, preset, seed, subset, 0.0) for seed, dataset, method in grid
    ]


def tables_of(rows: list[results.Row]) -> list[tables.Table]:
    """One table, if anything was run on clean labels."""
    mine = [row for row in rows if row["noise"] == cells.CLEAN and row["eta"] in (None, 0.0)]
    lines = {(row["dataset"], row["preset"], row["subset"], row["eta"]) for row in mine}
    texts = [_line(mine, line) for line in sorted(lines, key=str)]
    columns = ("dataset", *METHODS, "paper: ce", "paper: class2simi")
    return [tables.Table("Clean labels, accuracy in %", columns, tuple(texts))] if texts else []


def _line(rows: list[results.Row], line: tuple[str, str, int | None, float | None]) -> tuple[str, ...]:
    dataset, preset, subset, eta = line
    mine = [row for row in rows if (row["dataset"], row["preset"], row["subset"], row["eta"]) == line]
    name = f"{dataset}, {preset}" + ("" if subset is None else f", first {subset} rows")
    name += ", T = I" if eta == 0 else ", T estimated"
    ours = [tables.summary([row for row in mine if row["method"] == m], "accuracy_best") for m in METHODS]
    paper = [cells.find(dataset, cells.CLEAN, method) for method in ("ce", "mcl")]
    printed = ["-" if cell is None else f"{cell.mean:.2f} ± {cell.deviation:.2f}" for cell in paper]
    return (name, *ours, *printed)
