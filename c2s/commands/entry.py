"""The command line of the library: parse, run, and turn errors into one sentence and an exit code."""

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Any, Protocol

from c2s import errors
from c2s.commands import (
    completion,
    datasets,
    exits,
    export,
    golds,
    issues,
    jobs,
    key,
    models,
    paper,
    predict,
    train,
    transition,
)

REFUSED, INTERRUPTED = exits.REFUSED, exits.INTERRUPTED
TRAINING = ("torch", "sklearn", "safetensors")  # what an installation that only serves goes without
SERVING = ("pydantic_settings", "sqlalchemy", "alembic", "celery", "fastapi", "uvicorn", "structlog")


OURS = (train, datasets, jobs, transition, issues, golds, models, predict, key, export, paper, completion)


class Command(Protocol):
    """A module that adds its commands to the parser."""

    def add(self, commands: Any) -> None: ...


class Parser(argparse.ArgumentParser):
    """A parser that may know a usual verb, for command lines from before there were others."""

    def __init__(
        self, *given: Any, verbs: Sequence[str] = (), usual: str | None = None, **named: Any
    ) -> None:
        super().__init__(*given, **named)
        self._known, self._usual = (*verbs, "-h", "--help"), usual

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse, with the usual verb in front where none is."""
        if self._usual is not None and args and args[0] not in self._known:
            args = [self._usual, *args]
        return super().parse_known_args(args, namespace)


class Version(argparse.Action):
    """Looks the version up when it is asked for: that takes longer than all the rest of the help."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object, **__: object) -> None:
        """Print it and leave."""
        import importlib.metadata

        parser.exit(0, f"c2s {importlib.metadata.version('c2s')}\n")


def parser(more: Sequence[Command] = ()) -> argparse.ArgumentParser:
    """The parser with all commands."""
    root = Parser(
        prog="c2s",
        description="Turns data with wrong labels into a classifier that predicts the right ones.",
        epilog="exit codes: " + "; ".join(f"{code} {meaning}" for code, meaning in exits.MEANING.items()),
    )
    root.add_argument("--version", action=Version, nargs=0, help="print the version")
    root.set_defaults(resumes=False)
    commands = root.add_subparsers(required=True, metavar="COMMAND")
    for module in (*more, *OURS):
        module.add(commands)
    return root


def main(argv: Sequence[str] | None = None, *, more: Sequence[Command] = ()) -> int:
    """Run a command; `exits` says what its code means."""
    try:
        try:
            return _run(argv, more)
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()  # at Python's own end a reader that left would be a message and a code of its own
    except (BrokenPipeError, SystemExit) as exc:  # the reader, `head` say, has seen enough
        if not isinstance(exc, BrokenPipeError) and not isinstance(exc.__context__, BrokenPipeError):
            raise  # but Rich makes an exit with code 1 of it
        return _unread()


def _run(argv: Sequence[str] | None, more: Sequence[Command]) -> int:
    root = parser(more)
    chosen = root.parse_args(argv)
    chosen.root = root
    # before torch starts its threads: on busy cores threads that spin while they wait cost several times as much
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    try:
        return chosen.run(chosen) or 0
    except errors.C2SError as exc:
        from c2s.commands import failures

        return failures.tell(exc)
    except KeyboardInterrupt:
        goes_on = "; the same command goes on from the last epoch kept" if chosen.resumes else ""
        sys.stderr.write(f"c2s: interrupted{goes_on}\n")
        return INTERRUPTED
    except ModuleNotFoundError as exc:
        if exc.name not in (*TRAINING, *SERVING):
            raise
        extra = "train" if exc.name in TRAINING else "service"
        sys.stderr.write(
            f"c2s: {exc.name} is not installed here, it comes with `pip install 'c2s[{extra}]'`\n"
        )
        return REFUSED
    except BrokenPipeError:
        raise
    except OSError as exc:
        sys.stderr.write(f"c2s: {exc.filename or 'a file'}: {exc.strerror or exc}\n")
        return REFUSED


def _unread() -> int:
    """What is still to be written goes nowhere, so that nothing fails when Python flushes it at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    return exits.UNREAD
