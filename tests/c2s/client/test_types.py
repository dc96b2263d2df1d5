"""The client's types as users see them: mypy finds what is wrong in a program that uses it, and nothing else."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.mark.timeout(600)  # mypy without a cache, on a machine with much else to do
def test_both_clients_are_typed_for_their_users():
    command = [sys.executable, "-m", "mypy", "--config-file", ROOT / "pyproject.toml"]
    done = subprocess.run(
        [*command, Path(__file__).with_name("typed_use.py")], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout
