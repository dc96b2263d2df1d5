"""The migrations and the tables describe the same schema, up and down, on both databases."""

import subprocess
import sys
import threading

import pytest
import sqlalchemy
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from app.core import db, tables


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    if request.param == "postgresql":
        return request.getfixturevalue("postgres_server").database()
    return f"sqlite:///{tmp_path / 'new' / 'c2s.sqlite3'}"


def names(url):
    engine = sqlalchemy.create_engine(url)
    try:
        return set(sqlalchemy.inspect(engine).get_table_names())
    finally:
        engine.dispose()


def test_the_migrations_lead_to_the_tables_and_back(url):
    db.upgrade(url)
    engine = sqlalchemy.create_engine(url)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, tables.Table.metadata) == []
    engine.dispose()
    db.downgrade(url, "base")
    assert names(url) == {"alembic_version"}
    db.upgrade(url)
    assert names(url) == {"alembic_version", *tables.Table.metadata.tables}


def test_a_schema_that_is_there_is_left_alone(url):
    db.upgrade(url)
    db.upgrade(url)


def test_two_processes_that_migrate_at_once_take_turns(url):
    code = "import sys; from app.core import db; db.upgrade(sys.argv[1])"
    both = [subprocess.Popen([sys.executable, "-c", code, url]) for _ in range(2)]
    assert [one.wait(60) for one in both] == [0, 0]
    assert "jobs" in names(url)


def test_readers_cannot_write_on_sqlite(tmp_path):
    url = f"sqlite:///{tmp_path / 'c2s.sqlite3'}"
    db.upgrade(url)
    database = db.Database(url)
    with pytest.raises(sqlalchemy.exc.OperationalError), database.read() as tx:
        tx.execute(sqlalchemy.text("DELETE FROM jobs"))
    database.close()


def test_no_update_is_lost_between_racing_writers(tmp_path):
    url = f"sqlite:///{tmp_path / 'c2s.sqlite3'}"
    db.upgrade(url)
    database = db.Database(url)
    with database.begin() as tx:
        tx.execute(sqlalchemy.text("CREATE TABLE counter (n INTEGER)"))
        tx.execute(sqlalchemy.text("INSERT INTO counter VALUES (0)"))

    def count():
        for _ in range(25):
            with database.begin() as tx:
                n = tx.scalar(sqlalchemy.text("SELECT n FROM counter"))
                tx.execute(sqlalchemy.text("UPDATE counter SET n = :n"), {"n": n + 1})

    writers = [threading.Thread(target=count) for _ in range(4)]
    [writer.start() for writer in writers]
    [writer.join() for writer in writers]
    with database.read() as tx:
        assert tx.scalar(sqlalchemy.text("SELECT n FROM counter")) == 100
    database.close()
