"""What all commands share that talk to a service: their options, their client, and how they print."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from c2s.commands.plain import plain

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from c2s import Client

SOME = 5  # of a list in a cell
WIDE = 160  # columns where no terminal says how many
WHOLE = ("id", "state", "version", "created_at")  # what is of no use in pieces
TONES = {
    "succeeded": "green",
    "ready": "green",
    "running": "cyan",
    "queued": "blue",
    "validating": "blue",
    "cancelling": "yellow",
    "cancelled": "yellow",
    "failed": "red",
    "refused": "red",
}


class Verbs:
    """A noun of the command line, whose verbs are added one by one."""

    def __init__(self, commands: Any, noun: str, about: str) -> None:
        self.parser = commands.add_parser(noun, help=about, description=about)
        self._verbs = self.parser.add_subparsers(required=True, metavar="VERB")

    def add(
        self, verb: str, run: Callable[[argparse.Namespace], int | None], about: str
    ) -> argparse.ArgumentParser:
        """A verb with the options that all have."""
        parser: argparse.ArgumentParser = self._verbs.add_parser(verb, help=about, description=about)
        options(parser)
        parser.set_defaults(run=run)
        return parser


def options(parser: argparse.ArgumentParser, forms: Sequence[str] = ("table", "json")) -> None:
    """How to print, and which service to ask."""
    parser.add_argument("-o", "--output", choices=forms, default=forms[0], help=f"default: {forms[0]}")
    parser.add_argument(
        "--url", help="of the service; default: C2S_URL, or the one of `c2s up` on this machine"
    )


def client(chosen: argparse.Namespace) -> Client:
    """A client of the service that is meant; its key is C2S_TOKEN, never an option that others could read."""
    from c2s.client.client import Client

    return Client(chosen.url)


def as_json(value: object) -> None:
    """Print JSON, one document."""
    json.dump(value, sys.stdout, ensure_ascii=False, indent=1)
    sys.stdout.write("\n")


def console(file: TextIO | None = None) -> Console:
    """Where tables go: in colour on a terminal, wide and plain elsewhere."""
    from rich.console import Console

    target = file or sys.stdout
    return Console(file=target, width=None if target.isatty() else WIDE)


def give(chosen: argparse.Namespace, value: object, shown: Callable[[], Iterable[object]]) -> None:
    """Print JSON, or what a person would rather read."""
    if chosen.output == "json":
        as_json(value)
        return
    screen = console()
    for part in shown():
        screen.print(part)


def table(rows: Iterable[Mapping[str, Any]], columns: Sequence[str], *, empty: str = "nothing yet") -> Table:
    """Rows under the names of their columns."""
    from rich.table import Table

    found = list(rows)
    made = Table(box=None, pad_edge=False, header_style="bold", caption=None if found else empty)
    made.caption_justify = "left"
    for name in columns:
        made.add_column(name.removesuffix("_at").replace("_", " "), no_wrap=name in WHOLE)
    for row in found:
        made.add_row(*(cell(row.get(name)) for name in columns))
    return made


def facts(told: Mapping[str, object]) -> Table:
    """A thing, a line for each fact of it."""
    from rich.table import Table

    made = Table(box=None, pad_edge=False, show_header=False)
    made.add_column(style="bold", no_wrap=True)
    made.add_column(overflow="fold")
    for name, value in told.items():
        if value is not None:
            made.add_row(name.replace("_", " "), cell(value))
    return made


def _some(values: Sequence[object]) -> str:
    """The first of them, and how many there are if they are many."""
    shown = ", ".join(str(one) for one in values[:SOME])
    return shown if len(values) <= SOME else f"{shown}, … ({len(values)})"


def cell(value: object) -> Any:
    """A value as text that is never taken for markup."""
    from rich.text import Text

    match value:
        case None:
            return Text("")
        case float():
            return Text(f"{value:.4g}")
        case list() | tuple():
            return Text(plain(_some(value)))
        case dict():
            return Text(plain(json.dumps(value, ensure_ascii=False)))
        case str() if value in TONES:
            return Text(value, style=TONES[value])
        case str() if len(value) == 24 and value[10] == "T" and value.endswith("Z"):
            return Text(f"{value[:10]} {value[11:19]}", style="dim")
        case _:
            return Text(plain(value))
