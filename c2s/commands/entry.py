"""The command line of the library: parse, run, and turn errors into one sentence and an exit code."""

import argparse
import os
import sys
from collections.abc import Sequence

from c2s import errors
from c2s.commands import demo, paper, predict, train, transition

REFUSED = 2  # the input or the model cannot be used
INTERRUPTED = 130


def parser() -> argparse.ArgumentParser:
    """The parser with all commands."""
    root = argparse.ArgumentParser(
        prog="c2s",
        description="Turns data with wrong labels into a classifier that predicts the right ones.",
    )
    commands = root.add_subparsers(required=True, metavar="COMMAND")
    for module in (train, predict, transition, demo, paper):
        module.add(commands)
    return root


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; 0 is success, 2 a refused input, 130 an interruption."""
    chosen = parser().parse_args(argv)
    # before torch starts its threads: on busy cores threads that spin while they wait cost several times as much
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    try:
        chosen.run(chosen)
    except errors.C2SError as exc:
        sys.stderr.write(f"c2s: {exc}\n")
        return REFUSED
    except KeyboardInterrupt:
        sys.stderr.write("c2s: interrupted; finished epochs are kept, the same command goes on from there\n")
        return INTERRUPTED
    except BrokenPipeError:  # the reader, `head` say, has seen enough
        sys.stderr.close()
        return 0
    return 0
