"""How far a job is, in a terminal or a notebook, told by its events."""

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from c2s.client import markup

Event = Mapping[str, Any]
Report = Callable[[Event], None]


class Bar(Protocol):
    """Something that shows a share and a sentence."""

    def show(self, fraction: float, said: str) -> None: ...


@contextlib.contextmanager
def reporting(wanted: "bool | Report", title: str) -> Iterator[Report]:
    """What is to be called with each event: nothing, a bar where a person looks, or a function of the user's."""
    if callable(wanted):
        yield wanted
    elif not wanted:
        yield lambda _event: None
    else:
        with _bar(title) as bar:
            yield Watched(bar)


class Watched:
    """Moves a bar by events."""

    def __init__(self, bar: Bar) -> None:
        self._bar, self._fraction = bar, 0.0
        bar.show(0.0, "queued")

    def __call__(self, event: Event) -> None:
        """Take an event."""
        data = event["data"]
        if event["type"] == "end":
            self._fraction = 1.0 if data["state"] == "succeeded" else self._fraction
        if event["type"] == "progress":
            self._fraction = data.get("fraction") or self._fraction
        if (said := sentence(event)) is not None:
            self._bar.show(self._fraction, said)


def sentence(event: Event) -> str | None:
    """What an event means to somebody who waits; None: nothing new."""
    data = event["data"]
    match event["type"]:
        case "state" | "end":
            return str(data["state"])
        case "phase":
            return str(data["phase"])
        case "progress":
            return _underway(data)
        case _:
            return None


def _underway(data: Event) -> str:
    epochs = f" {data['epoch']}/{data['epochs']}" if data.get("epochs") else ""
    left = data.get("eta_seconds")
    return f"{data.get('phase') or 'running'}{epochs}" + (
        f", {duration(left)} left" if left is not None else ""
    )


def duration(seconds: float) -> str:
    """Seconds as a person says them."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"


@contextlib.contextmanager
def _bar(title: str) -> Iterator[Bar]:
    if in_notebook():
        yield NotebookBar(title)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    if not console.is_terminal:  # a log: a line for each state and phase
        yield LineBar(title)
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn(bar_width=30))
    said = TextColumn("{task.fields[said]}", markup=False)
    with Progress(*columns, said, TimeElapsedColumn(), console=console) as progress:
        yield TerminalBar(progress, title)


class TerminalBar:
    """A line that is drawn over and over."""

    def __init__(self, progress: Any, title: str) -> None:
        self._progress, self._task = progress, progress.add_task(title, total=1.0, said="")

    def show(self, fraction: float, said: str) -> None:
        """Draw it anew."""
        self._progress.update(self._task, completed=fraction, said=said)


class LineBar:
    """Lines, where nothing can be drawn over: one whenever something else is being done."""

    def __init__(self, title: str) -> None:
        self._title, self._last = title, ""

    def show(self, fraction: float, said: str) -> None:
        """Add a line, unless only the numbers have changed."""
        doing = said.partition(" ")[0].rstrip(",")
        if doing != self._last:
            self._last = doing
            sys.stderr.write(f"{self._title}: {doing}\n")
            sys.stderr.flush()


class NotebookBar:
    """An output of a cell that is replaced over and over."""

    def __init__(self, title: str) -> None:
        from IPython.display import HTML, display

        self._html, self._title = HTML, title
        self._handle = display(HTML(""), display_id=True)

    def show(self, fraction: float, said: str) -> None:
        """Replace it."""
        self._handle.update(self._html(markup.bar(fraction, f"{self._title}: {said}")))


def in_notebook() -> bool:
    """Whether a notebook's kernel runs us, and not a terminal, with or without IPython."""
    shell = sys.modules.get("IPython")
    return shell is not None and getattr(shell.get_ipython(), "kernel", None) is not None
