"""The service's database as commands at its machine open it, and what they say when it does not answer."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from app.core import errors

if TYPE_CHECKING:
    from sqlalchemy.exc import DBAPIError

    from app.core.db import Database
    from app.core.settings import Settings


@contextlib.contextmanager
def database(known: "Settings") -> Iterator["Database"]:
    """It, if it is there, answers and is of this version. An SQLite file that is missing is not made by looking."""
    from sqlalchemy import text

    from app.core import readiness
    from app.core.db import Database

    file = known.database.removeprefix("sqlite:///")
    if file != known.database and not Path(file).is_file():
        raise errors.Conflict(f"there is no database {file}: C2S_HOME names the service's folder")
    opened = Database(known.database)
    try:
        with opened.read() as tx:  # what is wrong with the server is said in its own words
            tx.execute(text("SELECT 1"))
        if (schema := readiness.migrations(opened)).state == "missing":
            raise errors.Conflict(schema.detail)
        yield opened
    finally:
        opened.close()


def refusal(error: "DBAPIError", known: "Settings") -> errors.ServiceError:
    """One sentence for what a database answered: which one, without its password, and its own first line."""
    from sqlalchemy import make_url

    from app.core import db

    address = make_url(known.database).set(query={}).render_as_string(hide_password=True)
    said, *_ = str(error.orig).splitlines() or ["no reason given"]
    kind = errors.Unavailable if db.unavailable(error) else errors.Conflict
    return kind(f"the database {address}: {said}")
