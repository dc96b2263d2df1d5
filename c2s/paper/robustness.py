"""The paper's figure 5: the true T_c is perturbed and given; does accuracy fall with the perturbation?

"0.1 noise" is printed there as a factor of +-[1.1, 1.2], which would make probabilities negative. Here an entry is
scaled by 1 +- U[eta, eta + 0.1], clipped at zero, and rows are normalised; eta 0 gives the true T_c itself.
"""

from collections.abc import Iterable

from c2s.paper import cells, results, runs, tables

METHODS = ("forward", "f-class2simi")
ETAS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)


def build(
    dataset: str = "mnist",
    noises: Iterable[str] = ("sym-0.6",),
    *,
    etas: Iterable[float] = ETAS,
    preset: str = "best",
    seeds: Iterable[int] = (1,),
    subset: int | None = None,
) -> list[runs.Run]:
    """Forward and F-Class2Simi under each perturbation, seed by seed."""
    grid = [
        (seed, noise, eta, method) for seed in seeds for noise in noises for eta in etas for method in METHODS
    ]
    return [runs.Run(dataset, noise, method, preset, seed, subset, eta) for seed, noise, eta, method in grid]


def tables_of(rows: list[results.Row]) -> list[tables.Table]:
    """Accuracy against eta, one table for each dataset, noise and preset that was run."""
    mine = [row for row in rows if row["eta"] is not None and row["noise"] != cells.CLEAN]
    groups = {(row["dataset"], row["noise"], row["preset"], row["subset"]) for row in mine}
    return [_table(mine, group) for group in sorted(groups, key=str)]


def _table(rows: list[results.Row], group: tuple[str, str, str, int | None]) -> tables.Table:
    dataset, noise, preset, subset = group
    mine = [row for row in rows if (row["dataset"], row["noise"], row["preset"], row["subset"]) == group]
    title = f"{dataset}, {noise}, preset {preset}: accuracy in % with the true T_c perturbed by eta"
    if subset is not None:
        title += f", first {subset} rows"
    lines = []
    for eta in sorted({*ETAS, *(row["eta"] for row in mine)}):
        at = [row for row in mine if row["eta"] == eta]
        ours = [tables.summary([row for row in at if row["method"] == m], "accuracy_best") for m in METHODS]
        lines.append((f"{eta:g}", *ours, _moved(at)))
    return tables.Table(title, ("eta", *METHODS, "mean |T - T_c|"), tuple(lines))


def _moved(rows: list[results.Row]) -> str:
    moved = [row["error"] for row in rows if row.get("error") is not None]
    return f"{sum(moved) / len(moved):.4f}" if moved else tables.NOT_RUN
