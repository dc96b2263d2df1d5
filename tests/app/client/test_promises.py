"""The command as its users were promised it: every verb, a quick help, and tables in colour."""

import argparse
import resource
import subprocess
import sys

import pytest

from app.commands import demo, keys, service
from c2s.commands import entry, remote

PROMISED = {
    "up": (), "worker": (), "doctor": (), "db": ("upgrade",), "train": (), "completion": (),
    "dataset": ("add", "ls", "report", "rm"),
    "job": ("run", "ls", "get", "watch", "cancel", "retry", "logs"),
    "transition": ("show", "export", "diff"),
    "issues": ("ls", "export"),
    "model": ("ls", "promote", "rollback", "export"),
    "predict": (),
    "key": ("add", "ls", "rm"),
}  # fmt: skip


def below(parser):
    """The words that may follow, with their parsers."""
    found = [one for one in parser._actions if isinstance(one, argparse._SubParsersAction)]
    return found[0].choices if found else {}


@pytest.mark.parametrize("noun", PROMISED)
def test_every_promised_command_exists_and_says_how_to_use_it(noun):
    known = below(entry.parser((service, keys, demo)))
    verbs = below(known[noun])
    assert set(PROMISED[noun]) <= set(verbs)
    for verb in PROMISED[noun]:
        assert verbs[verb].format_help().startswith(f"usage: c2s {noun} {verb}")
    listed = [verb for verb in ("ls", "get") if verb in PROMISED[noun]]
    assert all("{table,json}" in verbs[verb].format_help() for verb in listed)


def test_the_help_takes_less_than_four_tenths_of_a_second():
    def spent():
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-m", "app", "--help"], check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    assert min(spent() for _ in range(3)) < 0.4  # of a processor: a busy machine is not the command's fault


def test_states_are_told_by_colour_where_a_terminal_shows_it():
    from rich.console import Console

    table = remote.table([{"id": "job_1", "state": "failed"}], ("id", "state"), empty="")
    console = Console(force_terminal=True, color_system="standard", width=80)
    with console.capture() as capture:
        console.print(table)
    assert "\x1b[31mfailed" in capture.get()
