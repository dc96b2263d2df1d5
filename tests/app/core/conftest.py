"""A database of each test's own, on SQLite and on PostgreSQL."""

import databases
import pytest

from app.core import db


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    """An empty database."""
    if request.param == "postgresql":
        return request.getfixturevalue("postgres_server").database()
    return f"sqlite:///{tmp_path / 'new' / 'c2s.sqlite3'}"


@pytest.fixture
def database(url):
    """One with all its tables."""
    databases.prepare(url)
    found = db.Database(url)
    yield found
    found.close()
