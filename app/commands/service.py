"""The commands that run the service: up, down, serve, worker, db upgrade, check, doctor."""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.commands import opening
from app.core import errors

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.core.settings import Settings

STOP_SECONDS = 60.0
HOME = "~/.c2s"  # where commands look if nothing is said


def add(commands: Any) -> None:
    """Add the commands and their options."""
    up = commands.add_parser("up", help="start the service on this machine")
    up.set_defaults(run=run_up)
    down = commands.add_parser("down", help="stop the service that `up` or `demo` started")
    down.set_defaults(run=run_down)
    serve = commands.add_parser("serve", help="run the API alone, for a deployment with its own workers")
    serve.add_argument(
        "--processes", type=int, default=1, help="behind one port; more than one on PostgreSQL"
    )
    serve.set_defaults(run=run_serve)
    worker = commands.add_parser("worker", help="run a worker alone, beside `serve` elsewhere")
    worker.set_defaults(run=run_worker)
    database = commands.add_parser("db", help="the service's database")
    verbs = database.add_subparsers(required=True, metavar="VERB")
    for parent, name in ((verbs, "upgrade"), (commands, "migrate")):
        upgrade = parent.add_parser(name, help="bring the database to this version")
        upgrade.set_defaults(run=run_migrate)
    check = commands.add_parser("check", help="say whether the settings are fit to start with")
    check.add_argument("secrets", nargs="*", metavar="VARIABLE", help="whose value must be a strong secret")
    check.set_defaults(run=run_check)
    doctor = commands.add_parser("doctor", help="find bytes without rows and rows without bytes")
    doctor.add_argument("--fix", action="store_true", help="remove the litter found")
    doctor.add_argument(
        "--deep", action="store_true", help="read all that rows name anew, to see what has changed"
    )
    doctor.add_argument("--all-ages", action="store_true", help="look at what is younger than an hour too")
    doctor.set_defaults(run=run_doctor)


def load() -> Settings:
    """The settings, read when a command needs them: the help should not wait for their schema."""
    from app.core import settings

    return settings.load()


def run_up(_chosen: argparse.Namespace) -> None:
    """Start, say where, and stay until Ctrl-C."""
    from app import embedded

    chosen = load()

    def ready(address: str) -> None:
        sys.stdout.write(f"\n  c2s is ready: {address}\n{told_home(chosen)}\n")
        sys.stdout.write("  Ctrl-C stops it; running jobs go on at the next start.\n")
        sys.stdout.flush()

    if sys.stderr.isatty():  # a busy machine takes its time, and a person should know that it is meant
        sys.stderr.write(f"  c2s starts in {chosen.root} ...\n")
    embedded.run(chosen, ready=ready)


def told_home(known: Settings) -> str:
    """The line that lets other terminals find this service; at the usual home they need none."""
    if known.root == Path(HOME).expanduser().resolve():
        return ""
    return f"  For c2s and Client() in other terminals: export C2S_HOME={shlex.quote(str(known.root))}\n"


def run_down(_chosen: argparse.Namespace) -> None:
    """Ask the supervisor to stop and wait until it has; that there is none is told, and no success."""
    from app import embedded

    chosen = load()
    found = embedded.running(chosen)
    if found is None:
        raise errors.NotFound(f"c2s is not running in {chosen.root}{_stranger(chosen, embedded.answers)}")
    os.kill(found[0], signal.SIGTERM)
    deadline = time.monotonic() + STOP_SECONDS
    while embedded.running(chosen):
        if time.monotonic() > deadline:
            raise errors.Unavailable("c2s has not stopped yet")
        time.sleep(0.1)
    sys.stdout.write("c2s has stopped\n")


def _stranger(known: Settings, answers: Callable[[str], bool]) -> str:
    """A word on a service that was started with another home, if one answers."""
    address = f"http://{known.host}:{known.port}"
    found = known.port and answers(address)
    return f", but one with another home answers at {address}: C2S_HOME names its folder" if found else ""


def run_serve(chosen: argparse.Namespace) -> None:
    """Run the API in this process, or in several."""
    if chosen.processes > 1:
        from app import fleet

        fleet.run(load(), chosen.processes)
    else:
        from app import serve

        serve.run()


def run_worker(_chosen: argparse.Namespace) -> None:
    """Become the worker: the service knows it by its module's name alone."""
    os.execv(sys.executable, [sys.executable, "-m", "worker"])  # noqa: S606 # nosec B606 # our own module


def run_migrate(_chosen: argparse.Namespace) -> None:
    """Upgrade the schema. The store is made ready by the service: here, nothing may be there to write to."""
    from app.core import schema

    schema.upgrade(load().database)


def run_check(chosen: argparse.Namespace) -> None:
    """Read the settings as the service would, and judge the secrets that other servers were given."""
    from app.core import strength

    load()
    weak = [
        f"{name} {found}" for name in chosen.secrets if (found := strength.weakness(os.environ.get(name, "")))
    ]
    if weak:
        raise errors.Invalid("; ".join(weak))


def run_doctor(chosen: argparse.Namespace) -> None:
    """Print the findings; exit 2 if something is lost."""
    from app import doctor
    from app.core import stores

    known = load()
    with opening.database(known) as database:
        store = stores.open_store(known)
        young = 0 if chosen.all_ages else doctor.YOUNG_SECONDS
        found = doctor.examine(database, store, young=young, deep=chosen.deep)
    for finding in found:
        size = store.size(finding.key)
        sys.stdout.write(f"{finding.kind:<7}{finding.key}  {finding.what} ({size} bytes)\n")
        if chosen.fix:
            doctor.remove(store, finding)
    lost = sum(finding.kind == "loss" for finding in found)
    litter = len(found) - lost
    removed = " (removed)" if chosen.fix and litter else ""
    sys.stdout.write(f"{litter} pieces of litter{removed}, {lost} losses\n")
    if lost:
        raise errors.Conflict("bytes are missing or changed: restore them from a backup")
