"""The migrations and the tables describe the same schema, up and down, on both databases."""

import subprocess
import sys
import threading

import pytest
import sqlalchemy
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from app import cli
from app.core import callers, db, schema, settings, tables


def names(url):
    engine = sqlalchemy.create_engine(url)
    try:
        return set(sqlalchemy.inspect(engine).get_table_names())
    finally:
        engine.dispose()


def test_the_migrations_lead_to_the_tables_and_back(url):
    schema.upgrade(url)
    engine = sqlalchemy.create_engine(url)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, tables.Table.metadata) == []
    engine.dispose()
    schema.downgrade(url, "base")
    assert names(url) == {"alembic_version"}
    schema.upgrade(url)
    assert names(url) == {"alembic_version", *tables.Table.metadata.tables}


def test_what_was_there_before_projects_is_the_default_project_s(url):
    schema.upgrade(url, "0001")
    engine = sqlalchemy.create_engine(url)
    with engine.begin() as connection:
        connection.exec_driver_sql(
            "INSERT INTO datasets (id, name, state, options, bytes, source_sha256, created_at)"
            " VALUES ('ds_1', 'old', 'ready', '{}', 1, '', 1)"
        )
        connection.exec_driver_sql(
            "INSERT INTO receipts (key, request, resource, status, created_at) VALUES ('k', 'r', 'ds_1', 201, 1)"
        )
    schema.upgrade(url)
    with engine.connect() as connection:
        for table in ("datasets", "receipts"):
            owners = connection.exec_driver_sql(f"SELECT project_id FROM {table}").scalars().all()  # noqa: S608
            assert owners == [callers.DEFAULT_PROJECT]
        assert connection.exec_driver_sql("SELECT id FROM projects").scalars().all() == owners
    schema.downgrade(url, "0001")
    with engine.connect() as connection:
        kept = connection.exec_driver_sql("SELECT key, resource, status FROM receipts").all()
        assert [tuple(row) for row in kept] == [("k", "ds_1", 201)]
        assert connection.exec_driver_sql("SELECT name FROM datasets").scalars().all() == ["old"]
    engine.dispose()


def test_workers_come_with_their_revision_and_go_with_it_and_jobs_stay(url):
    schema.upgrade(url, "0006")
    assert "workers" not in names(url)
    engine = sqlalchemy.create_engine(url)
    with engine.begin() as connection:
        connection.exec_driver_sql(
            "INSERT INTO datasets (id, name, state, options, bytes, source_sha256, created_at)"
            " VALUES ('ds_1', 'old', 'ready', '{}', 1, '', 1)"
        )
    schema.upgrade(url)
    with engine.begin() as connection:
        connection.exec_driver_sql(
            "INSERT INTO workers (id, owner, facts, created_at, seen_at) VALUES ('wrk_1', 'h:1:2', '{}', 1, 1)"
        )
    schema.downgrade(url, "0006")
    assert "workers" not in names(url)
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT name FROM datasets").scalars().all() == ["old"]
    engine.dispose()


def test_a_schema_that_is_there_is_left_alone(url):
    schema.upgrade(url)
    before = names(url)
    schema.upgrade(url)
    assert names(url) == before


def test_two_processes_that_migrate_at_once_take_turns(url):
    code = "import sys; from app.core import schema; schema.upgrade(sys.argv[1])"
    both = [subprocess.Popen([sys.executable, "-c", code, url]) for _ in range(2)]
    assert [one.wait(60) for one in both] == [0, 0]
    assert "jobs" in names(url)


def test_readers_cannot_write_on_sqlite(tmp_path):
    url = f"sqlite:///{tmp_path / 'c2s.sqlite3'}"
    schema.upgrade(url)
    database = db.Database(url)
    with pytest.raises(sqlalchemy.exc.OperationalError), database.read() as tx:
        tx.execute(sqlalchemy.text("DELETE FROM jobs"))
    database.close()


def test_no_update_is_lost_between_racing_writers(tmp_path):
    url = f"sqlite:///{tmp_path / 'c2s.sqlite3'}"
    schema.upgrade(url)
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


def test_the_command_touches_nothing_but_the_database(tmp_path, monkeypatch):
    home = tmp_path / "home"
    monkeypatch.setenv("C2S_HOME", str(home))
    monkeypatch.setenv("C2S_DATABASE_URL", f"sqlite:///{tmp_path / 'c2s.sqlite3'}")
    settings.load.cache_clear()
    try:
        assert cli.main(["migrate"]) == 0
    finally:
        settings.load.cache_clear()
    assert (tmp_path / "c2s.sqlite3").exists()
    assert not home.exists()  # in a container its place may not be writable


def test_predictions_come_with_their_revision_and_go_with_it(url):
    schema.upgrade(url, "0003")
    job = (
        "INSERT INTO jobs (id, task, state, config, manifest, rank, fence, attempts, crashes, preemptions, shrink,"
        " cancel_requested, last_event, created_at) VALUES ('{0}', '{1}', 'queued', '{{}}', '{{}}', 0, 0, 0, 0, 0, 0,"
        " false, 1, 1)"
    )
    event = "INSERT INTO events (job_id, number, type, data, at) VALUES ('{0}', 1, 'state', '{{}}', 1)"
    engine = sqlalchemy.create_engine(url)
    with engine.begin() as connection:
        connection.exec_driver_sql(job.format("job_1", "train"))
        connection.exec_driver_sql(event.format("job_1"))
    with pytest.raises(sqlalchemy.exc.IntegrityError), engine.begin() as connection:
        connection.exec_driver_sql(job.format("job_2", "predict"))
    schema.upgrade(url)
    with engine.begin() as connection:
        connection.exec_driver_sql(job.format("job_2", "predict"))
        connection.exec_driver_sql(event.format("job_2"))
    for wrong in (("job_3", "dance"), ("job_4", "")):
        with pytest.raises(sqlalchemy.exc.IntegrityError), engine.begin() as connection:
            connection.exec_driver_sql(job.format(*wrong))
    schema.downgrade(url, "0003")
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT id FROM jobs").scalars().all() == ["job_1"]
        assert connection.exec_driver_sql("SELECT job_id FROM events").scalars().all() == ["job_1"]
    engine.dispose()
