"""`c2s key`: make, list and revoke keys over HTTP, with an admin key; `c2s keys` does it on the machine itself."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from c2s import errors
from c2s.commands import remote

if TYPE_CHECKING:
    import datetime

COLUMNS = ("id", "name", "scopes", "last_used_at", "expires_at", "revoked_at")  # -o json has the rest
SCOPES = ("read", "write", "predict", "admin")


def add(commands: Any) -> None:
    """Add the commands and their options."""
    verbs = remote.Verbs(commands, "key", "API keys of a service, for admins")
    made = verbs.add("add", run_add, "make a key and print its secret, this once")
    made.add_argument("name", help="what it is for")
    usual = ["read", "write", "predict"]
    made.add_argument("--scopes", nargs="+", default=usual, metavar="SCOPE", help=f"of {', '.join(SCOPES)}")
    made.add_argument("--project", metavar="ID", help="whose rows it sees; default: as your own key")
    made.add_argument("--days", type=float, help="until it expires")
    verbs.add("ls", run_ls, "keys of the project, newest first").add_argument("--limit", type=int, default=50)
    verbs.add("rm", run_rm, "end a key for good").add_argument("id", metavar="KEY")


def run_add(chosen: argparse.Namespace) -> None:
    """The secret stands alone on its line, so that scripts can take it."""
    scopes: list[Any] = [one for given in chosen.scopes for one in given.replace(",", " ").split()]
    if unknown := [scope for scope in scopes if scope not in SCOPES]:
        raise errors.InvalidConfig(f"there is no scope {unknown[0]!r}, only {', '.join(SCOPES)}")
    with remote.client(chosen) as client:
        made = client.keys.create(
            chosen.name,
            scopes,
            project=chosen.project,
            expires_at=None if chosen.days is None else _in(chosen.days),
        )
    if chosen.output == "json":
        remote.as_json(made.raw)
        return
    sys.stderr.write(f"key {made.id}; its secret is shown only now:\n")
    sys.stdout.write(f"{made.secret}\n")


def _in(days: float) -> datetime.datetime:
    import datetime

    try:
        return datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=days)
    except (OverflowError, ValueError) as exc:
        raise errors.InvalidConfig("a key lasts so many days that a calendar has") from exc


def run_ls(chosen: argparse.Namespace) -> None:
    """One line a key; secrets are not kept."""
    with remote.client(chosen) as client:
        found = [one.raw for one in client.keys.list(chosen.limit)]
    remote.give(chosen, found, lambda: [remote.table(found, COLUMNS, empty="no keys: c2s key add NAME")])


def run_rm(chosen: argparse.Namespace) -> None:
    """Every process of the service knows within 5 seconds."""
    with remote.client(chosen) as client:
        client.keys.revoke(chosen.id)
        now = client.keys.get(chosen.id)
    sys.stderr.write(f"{chosen.id} is revoked\n")
    if chosen.output == "json":
        remote.as_json(now.raw)
