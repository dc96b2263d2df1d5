"""How a command ends: its exit code, and what is said on the way."""

import os
import subprocess
import sys

import pytest

from c2s.commands import exits

# a command of its own, as the service adds some; what it does follows
SAYING = """
import sys
from c2s.commands import entry
class Say:
    def add(self, commands):
        commands.add_parser("say").set_defaults(run=lambda chosen: say())
def say():
    {}
sys.exit(entry.main(["say"], more=[Say()]))
"""
FEW, MANY = "print('rows')", "print('rows' * 99_999)"
RICH = "from rich.console import Console; Console().print('rows')"
FAULT = "from c2s import errors; raise errors.InvalidConfig('no')"


def unread(words, *, buffered=True, both=False):
    """Run Python with these words and nobody who reads its output, or what it says of errors either."""
    reader, writer = os.pipe()
    os.close(reader)
    env = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    try:
        return subprocess.run(
            [sys.executable, *words],
            env=env if buffered else env | {"PYTHONUNBUFFERED": "1"},
            stdout=writer,
            stderr=writer if both else subprocess.PIPE,
        )
    finally:
        os.close(writer)


@pytest.mark.parametrize("buffered", [True, False])
@pytest.mark.parametrize("done", [FEW, MANY, RICH])
def test_a_command_whose_reader_left_ends_without_a_word(done, buffered):
    found = unread(["-c", SAYING.format(done)], buffered=buffered)
    assert (found.returncode, found.stderr) == (exits.UNREAD, b"")


def test_so_does_a_command_that_is_asked_for_help():
    found = unread(["-m", "c2s", "--help"])
    assert (found.returncode, found.stderr) == (exits.UNREAD, b"")


def test_an_error_that_nobody_reads_is_no_other_end():
    assert unread(["-c", SAYING.format(FAULT)], both=True).returncode == exits.UNREAD
