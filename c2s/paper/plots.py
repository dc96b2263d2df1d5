"""The results as curves: accuracy over the noise rate beside the paper's, and over the error of a given T_c."""

from collections.abc import Iterator, Mapping

from c2s.drawing import curves
from c2s.drawing.drawings import Drawing
from c2s.paper import cells, report, results, robustness, tables

KINDS = {"sym": "symmetric", "asym": "asymmetric"}
SHOWN = ("ce", "forward", "f-class2simi")
PRINTED = ("forward", "f-class2simi")  # the paper has no cross-entropy under noise
Curve = list[tuple[float, float]]


def drawn(rows: list[results.Row]) -> dict[str, Drawing]:
    """Every plot that these rows have points for, by the name of its file."""
    whole = [row for row in results.newest(rows) if row["subset"] is None and row["preset"] == "best"]
    return dict([*_rates(whole), *_robust(whole)])


def _rates(rows: list[results.Row]) -> Iterator[tuple[str, Drawing]]:
    """A plot a dataset and kind of noise; one with a single rate is none."""
    estimated = [row for row in rows if row["eta"] is None]
    for dataset in dict.fromkeys(row["dataset"] for row in estimated):
        mine = [row for row in estimated if row["dataset"] == dataset]
        for kind, said in KINDS.items():
            noises = [noise for noise in cells.NOISES if noise.startswith(kind)]
            lines = {method: _ours(mine, noises, method) for method in SHOWN}
            lines |= {f"paper: {method}": _theirs(dataset, noises, method) for method in PRINTED}
            if any(len(line) > 1 for line in lines.values()):
                title = f"{dataset}: accuracy in % over the rate of {said} noise"
                yield f"{dataset}-{kind}", _chart(lines, title, "noise rate")


def _ours(rows: list[results.Row], noises: list[str], method: str) -> Curve:
    found = [(noise, [r for r in rows if (r["noise"], r["method"]) == (noise, method)]) for noise in noises]
    means = [(_rate(noise), tables.mean(at, report.MEASURES["best"])) for noise, at in found]
    return [(rate, mean) for rate, mean in means if mean is not None]


def _theirs(dataset: str, noises: list[str], method: str) -> Curve:
    printed = [(_rate(noise), cells.find(dataset, noise, method)) for noise in noises]
    return [(rate, cell.mean) for rate, cell in printed if cell is not None]


def _rate(noise: str) -> float:
    return float(noise.rpartition("-")[2])


def _robust(rows: list[results.Row]) -> Iterator[tuple[str, Drawing]]:
    """The paper's figure 5: a plot for each dataset and noise at which T_c was given and perturbed."""
    given = [row for row in rows if row["eta"] is not None and row["noise"] != cells.CLEAN]
    for dataset, noise in dict.fromkeys((row["dataset"], row["noise"]) for row in given):
        mine = [row for row in given if (row["dataset"], row["noise"]) == (dataset, noise)]
        lines = {method: _perturbed(mine, method) for method in robustness.METHODS}
        if any(len(line) > 1 for line in lines.values()):
            title = f"{dataset}, {noise}: accuracy in % over the error of the T_c given"
            yield f"{dataset}-{noise}-robustness", _chart(lines, title, "mean |T - T_c|")


def _perturbed(rows: list[results.Row], method: str) -> Curve:
    """A point an eta: both axes are means over seeds."""
    found = []
    for eta in sorted({row["eta"] for row in rows}):
        at = [row for row in rows if (row["eta"], row["method"]) == (eta, method)]
        error, accuracy = tables.mean(at, "error"), tables.mean(at, "accuracy_best")
        if error is not None and accuracy is not None:
            found.append((error / 100, accuracy))
    return sorted(found)


def _chart(lines: Mapping[str, Curve], title: str, across: str) -> Drawing:
    return curves.chart({name: line for name, line in lines.items() if line}, title=title, across=across)
