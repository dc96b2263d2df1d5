"""The command line of the library: parse, run, and turn errors into one sentence and an exit code."""

import argparse
import importlib.metadata
import os
import sys
from collections.abc import Sequence
from typing import Any, Protocol

from c2s import errors
from c2s.commands import export, paper, predict, train, transition

REFUSED = 2  # the input or the model cannot be used
INTERRUPTED = 130
TRAINING = ("torch", "sklearn", "safetensors")  # what an installation that only serves goes without


class Command(Protocol):
    """A module that adds its commands to the parser."""

    def add(self, commands: Any) -> None: ...


def parser(more: Sequence[Command] = ()) -> argparse.ArgumentParser:
    """The parser with all commands."""
    root = argparse.ArgumentParser(
        prog="c2s",
        description="Turns data with wrong labels into a classifier that predicts the right ones.",
    )
    root.add_argument("--version", action="version", version=f"c2s {importlib.metadata.version('c2s')}")
    root.set_defaults(resumes=False)
    commands = root.add_subparsers(required=True, metavar="COMMAND")
    for module in (*more, train, predict, export, transition, paper):
        module.add(commands)
    return root


def main(argv: Sequence[str] | None = None, *, more: Sequence[Command] = ()) -> int:
    """Run a command; 0 is success, 2 a refused input, 130 an interruption."""
    chosen = parser(more).parse_args(argv)
    # before torch starts its threads: on busy cores threads that spin while they wait cost several times as much
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    try:
        chosen.run(chosen)
    except errors.C2SError as exc:
        sys.stderr.write(f"c2s: {exc}\n")
        return REFUSED
    except KeyboardInterrupt:
        goes_on = "; the same command goes on from the last epoch kept" if chosen.resumes else ""
        sys.stderr.write(f"c2s: interrupted{goes_on}\n")
        return INTERRUPTED
    except BrokenPipeError:  # the reader, `head` say, has seen enough
        sys.stderr.close()
        return 0
    except ModuleNotFoundError as exc:
        if exc.name not in TRAINING:
            raise
        sys.stderr.write(f"c2s: {exc.name} is not installed here, it comes with `pip install 'c2s[train]'`\n")
        return REFUSED
    except OSError as exc:
        sys.stderr.write(f"c2s: {exc.filename or 'a file'}: {exc.strerror or exc}\n")
        return REFUSED
    return 0
