"""Which source a result comes from, as it was when the process first asked."""

import functools
import hashlib
import shutil
import subprocess
from pathlib import Path

PACKAGE = Path(__file__).parents[1]


@functools.cache
def commit() -> str:
    """The commit, with `-dirty` if files differ from it; "unknown" outside a repository."""
    git = shutil.which("git")
    if git is None:
        return "unknown"
    command = [git, "describe", "--always", "--abbrev=40", "--exclude=*", "--dirty"]
    done = subprocess.run(  # noqa: S603 # nosec B603 # nothing in the command comes from outside
        command, cwd=PACKAGE, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() if done.returncode == 0 else "unknown"


@functools.cache
def source() -> str:
    """A hash of the library's own files: what was begun by other source is not gone on with."""
    total = hashlib.sha256()
    for file in sorted(PACKAGE.rglob("*.py")):
        if file.parent.name != "commands":  # says what to run, not how
            total.update(f"{file.relative_to(PACKAGE)}\0".encode() + file.read_bytes())
    return total.hexdigest()[:16]
