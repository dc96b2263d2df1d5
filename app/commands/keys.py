"""`c2s keys`: make, list and revoke keys on the machine of the service, whether it runs or not."""

import argparse
import sys
import time
from typing import Any

from app.commands import opening
from app.commands.service import load
from app.core import errors
from c2s.commands.key import SCOPES

DAY_SECONDS = 86400


def add(commands: Any) -> None:
    """Add the command and its options."""
    keys = commands.add_parser("keys", help="make, list and revoke API keys")
    keys.set_defaults(run=run_list)
    what = keys.add_subparsers(metavar="list | make | revoke")
    what.add_parser("list", help="all keys, newest first").set_defaults(run=run_list)
    make = what.add_parser("make", help="make a key and print its secret, this once")
    make.add_argument("name", help="what it is for")
    make.add_argument("--scopes", default="read,write,predict", help=f"of {', '.join(SCOPES)}")
    make.add_argument("--project", metavar="ID", help="whose rows it sees")
    make.add_argument("--days", type=float, help="until it expires")
    make.set_defaults(run=run_make)
    revoke = what.add_parser("revoke", help="end a key for good")
    revoke.add_argument("id", metavar="KEY_ID")
    revoke.set_defaults(run=run_revoke)


def run_list(_chosen: argparse.Namespace) -> None:
    """One line a key; secrets are not kept."""
    from sqlalchemy import select

    from app.core.ownership import Key

    with opening.database(load()) as database, database.read() as tx:
        found = tx.scalars(select(Key).order_by(Key.id.desc())).all()
    for key in found:
        sys.stdout.write(f"{key.id}  {key.prefix}  {','.join(key.scopes):<24}{_state(key):<9}{key.name}\n")
    if not found:
        sys.stdout.write("no keys: `c2s keys make NAME` makes one\n")


def run_make(chosen: argparse.Namespace) -> None:
    """Print the secret alone on its line, so that scripts can take it."""
    from app.core import audit, keys, projects
    from app.core.callers import DEFAULT_PROJECT
    from app.core.keyring import OPERATOR

    scopes = [scope.strip() for scope in chosen.scopes.split(",")]
    if unknown := [scope for scope in scopes if scope not in SCOPES]:
        raise errors.Invalid(f"there is no scope {unknown[0]!r}, only {', '.join(SCOPES)}")
    if chosen.days is not None and not 0 < chosen.days < 36_500:
        raise errors.Invalid("a key lasts more than 0 days")
    known = load()
    with opening.database(known) as database, database.begin() as tx:
        key, secret = keys.create(
            tx,
            name=chosen.name,
            project_id=projects.find(tx, chosen.project or DEFAULT_PROJECT).id,
            scopes=scopes,
            rate=known.limits.requests_per_minute,
            expires_at=None if chosen.days is None else time.time() + chosen.days * DAY_SECONDS,
        )
        audit.note(tx, OPERATOR, "key.create", key.id, prefix=key.prefix, scopes=key.scopes)
    sys.stderr.write(f"key {key.id}; its secret is shown only now:\n")
    sys.stdout.write(f"{secret}\n")


def run_revoke(chosen: argparse.Namespace) -> None:
    """Known to a running service within 5 seconds."""
    from app.core import audit, keys
    from app.core.keyring import OPERATOR

    with opening.database(load()) as database, database.begin() as tx:
        keys.revoke(tx, chosen.id)
        audit.note(tx, OPERATOR, "key.revoke", chosen.id)
    sys.stdout.write(f"{chosen.id} is revoked\n")


def _state(key: Any) -> str:
    if key.revoked_at is not None:
        return "revoked"
    return "expired" if key.expires_at is not None and key.expires_at <= time.time() else "valid"
