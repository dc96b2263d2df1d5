"""The schema's revisions: brought up, taken back and listed by Alembic, which is loaded only for that."""

import contextlib
import fcntl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import sqlalchemy

from app.core import errors

MIGRATIONS = Path(__file__).parents[2] / "migrations"


def upgrade(url: str, revision: str = "head") -> None:
    """Bring the schema to a revision; two processes that try at once take turns."""
    from alembic import command
    from alembic.util import CommandError

    try:
        with _turn(url):
            command.upgrade(_alembic(url), revision)
    except CommandError as exc:  # most likely the schema of a newer program
        raise errors.Conflict(f"the schema cannot be brought to this version: {exc}") from exc


def downgrade(url: str, revision: str) -> None:
    """Take the schema back to a revision."""
    from alembic import command

    command.downgrade(_alembic(url), revision)


def revisions() -> tuple[str, ...]:
    """Every revision of the schema that this program knows, oldest first."""
    from alembic.script import ScriptDirectory

    script = ScriptDirectory.from_config(_alembic(""))
    return tuple(reversed([found.revision for found in script.walk_revisions()]))


@contextlib.contextmanager
def _turn(url: str) -> Iterator[None]:
    """One migration at a time on SQLite; on PostgreSQL the migrations' own environment takes a lock."""
    parsed = sqlalchemy.make_url(url)
    if parsed.get_backend_name() != "sqlite" or not parsed.database:
        yield
        return
    path = Path(parsed.database)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with path.with_suffix(".lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _alembic(url: str) -> Any:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["url"] = url
    return config
