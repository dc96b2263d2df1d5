"""What a person sees in a terminal: progress bars, matrices as coloured tables, a run's summary."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Self

import numpy as np
import numpy.typing as npt
from rich.console import Console, Group, RenderableType
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from c2s.learning import training
    from c2s.running import result

MOST_CLASSES = 10  # wider matrices do not fit 80 columns and are shown as their largest confusions
MOST_CONFUSIONS = 20
NAME_WIDTH, CELL_WIDTH, SCREEN = 16, 6, 80  # columns


class Bars:
    """A progress bar per phase, with the latest noisy-validation accuracy beside it."""

    def __init__(self, console: Console) -> None:
        self._progress = Progress(
            TextColumn("{task.description:<8}"),
            BarColumn(bar_width=20),
            TextColumn("epoch {task.fields[epoch]}"),
            TextColumn("{task.fields[metrics]}"),
            TimeRemainingColumn(),
            console=console,
        )
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: types.TracebackType | None
    ) -> None:
        self._progress.stop()

    def __call__(self, progress: training.Progress) -> None:
        """Take a report from training."""
        if progress.phase not in self._tasks:
            self._tasks[progress.phase] = self._progress.add_task(
                progress.phase, total=progress.epochs, epoch="", metrics=""
            )
        task = self._tasks[progress.phase]
        self._progress.update(
            task, completed=progress.epoch + progress.fraction, epoch=f"{progress.epoch}/{progress.epochs}"
        )
        if "accuracy" in progress.metrics:
            agreed = progress.metrics["accuracy"]
            self._progress.update(task, metrics=f"noisy validation {agreed:.1%}")


def matrix_table(T_c: npt.NDArray[np.float64], classes: Sequence[str]) -> RenderableType:
    """T_c as a heat map, or its largest confusions where the classes are too many to print."""
    if len(classes) > MOST_CLASSES:
        return _confusions(T_c, classes)
    longest = max(map(len, classes)) + 1
    width = max(CELL_WIDTH, min(NAME_WIDTH, (SCREEN - NAME_WIDTH) // len(classes), longest))
    table = Table(box=None, padding=0, pad_edge=False)
    table.add_column("", style="bold", max_width=NAME_WIDTH, no_wrap=True)
    for name in classes:
        shown = name if len(name) < width else f"{name[: width - 2]}…"  # a space is left between two names
        table.add_column(Text(shown), justify="center", min_width=width, max_width=width, no_wrap=True)
    for name, row in zip(classes, T_c, strict=True):
        table.add_row(Text(f"{name} "), *(_cell(value, width) for value in row))
    return Group(
        Text("T_c: rows are true classes, columns the labels they were given", style="italic"), table
    )


def _cell(value: float, width: int) -> Text:
    depth = int(255 * (1 - min(1.0, float(value)) ** 0.5))  # the root lets small confusions show
    ink = "black" if depth > 110 else "white"
    return Text(f"{value:^{width}.2f}", style=f"{ink} on rgb({depth},{depth},255)")


def _confusions(T_c: npt.NDArray[np.float64], classes: Sequence[str]) -> Table:
    table = Table(title=f"T_c: the largest of {len(classes)}² confusions", title_justify="left")
    for name in ("true class", "given label", "how often"):
        table.add_column(name)
    away = T_c - np.diag(np.diag(T_c))
    for flat in np.argsort(away, axis=None)[::-1][:MOST_CONFUSIONS]:
        i, j = divmod(int(flat), len(classes))
        table.add_row(Text(classes[i]), Text(classes[j]), f"{T_c[i, j]:.3f}")
    return table


def similarity_table(t00: float, t01: float, t10: float, t11: float) -> Table:
    """T_s with its rows and columns named, since their order differs between paper and code."""
    table = Table(title="T_s: the same for pairs of rows", title_justify="left")
    for name in ("true \\ given", "dissimilar", "similar"):
        table.add_column(name)
    table.add_row("dissimilar", f"{t00:.4f}", f"{t01:.4f}")
    table.add_row("similar", f"{t10:.4f}", f"{t11:.4f}")
    return table


def show_noise(console: Console, found: result.Result, classes: Sequence[str]) -> None:
    """The matrices, the noise rates and what to beware of."""
    console.print(matrix_table(found.T_c, classes))
    (t00, t01), (t10, t11) = found.T_s.tolist()
    console.print(similarity_table(t00, t01, t10, t11))
    show_rates(console, found.rates.class_, found.rates.similarity, found.estimator)
    for note in found.notes:
        console.print(Text(f"note: {note}", style="yellow"))


def show_rates(
    console: Console,
    class_rate: float,
    similarity_rate: float,
    estimator: str,
    *,
    ends: Mapping[str, Sequence[float]] | None = None,
) -> None:
    """One line: how wrong the class labels are, and how wrong the similarity labels made of them."""
    said = {name: f" ({low:.1%} to {high:.1%})" for name, (low, high) in (ends or {}).items()}
    console.print(
        f"labels wrong: [bold]{class_rate:.1%}[/]{said.get('class', '')} of classes -> "
        f"[bold]{similarity_rate:.1%}[/]{said.get('similarity', '')} of pairs (T_c by {estimator})",
        highlight=False,
    )
