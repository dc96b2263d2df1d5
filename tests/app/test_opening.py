"""A database that is not there, not ours or not a database, as commands at its machine say it."""

import contextlib
import os
import sqlite3
import subprocess
import sys

import pytest

from app import cli
from app.core import settings

COMMANDS = [["keys", "list"], ["keys", "revoke", "key_x"], ["doctor"], ["db", "upgrade"]]
READERS = COMMANDS[:-1]


@pytest.fixture
def told(tmp_path, monkeypatch, capsys):
    """Runs a command with a home and perhaps a server's address: its exit code and what it says."""

    def run(words, *, url=""):
        monkeypatch.setenv("C2S_HOME", str(tmp_path))
        monkeypatch.setenv("C2S_DATABASE_URL", url)
        settings.load.cache_clear()  # a command is a process of its own
        return cli.main(words), capsys.readouterr().err

    yield run
    settings.load.cache_clear()


@pytest.mark.parametrize("words", COMMANDS)
def test_a_file_that_is_no_database_is_named_in_one_line(told, tmp_path, words):
    (tmp_path / "c2s.sqlite3").write_bytes(bytes(range(256)) * 20)
    code, said = told(words)
    assert code == 2
    assert said == f"c2s: the database sqlite:///{tmp_path}/c2s.sqlite3: file is not a database\n"


@pytest.mark.parametrize("words", COMMANDS)
def test_a_server_that_does_not_answer_is_named_without_its_password_and_may_be_tried_again(told, words):
    code, said = told(words, url="postgresql+psycopg://me:hush@127.0.0.1:1/c2s")
    assert code == 5
    assert said.startswith("c2s: the database postgresql+psycopg://me:***@127.0.0.1:1/c2s: ")
    assert "Connection refused" in said
    assert said.count("\n") == 1
    assert "hush" not in said


@pytest.mark.parametrize("words", COMMANDS)
@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("nonsense", "must begin with one of postgresql+psycopg://"),
        ("mysql://me:hush@127.0.0.1/c2s", "must begin with one of"),
        ("postgresql+psycopg://me:hush@127.0.0.1:port/c2s", "is no port"),
    ],
)
def test_an_address_that_is_none_is_said_to_be_so(told, words, url, why):
    code, said = told(words, url=url)
    assert (code, why in said, said.count("\n")) == (2, True, 1)
    assert "hush" not in said


def test_a_password_among_the_options_of_an_address_is_not_told(told):
    code, said = told(["keys", "list"], url="postgresql+psycopg://127.0.0.1:1/c2s?password=hush")
    assert (code, "hush" in said) == (5, False)


def test_a_schema_of_a_newer_program_is_refused_in_one_line(told, tmp_path):
    with contextlib.closing(sqlite3.connect(tmp_path / "c2s.sqlite3")) as plain, plain:
        plain.execute("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)")
        plain.execute("INSERT INTO alembic_version VALUES ('9999')")
    code, said = told(["db", "upgrade"])
    assert (code, said.count("\n")) == (2, 1)
    assert said.startswith("c2s: the schema cannot be brought to this version: ")


def test_a_start_says_once_why_the_database_cannot_be_migrated(tmp_path):
    (tmp_path / "c2s.sqlite3").write_bytes(bytes(range(256)) * 20)
    command = [sys.executable, "-m", "app", "up"]
    done = subprocess.run(
        command, env=os.environ | {"C2S_HOME": str(tmp_path), "C2S_PORT": "0"}, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert done.stderr == f"c2s: the database sqlite:///{tmp_path}/c2s.sqlite3: file is not a database\n"


@pytest.mark.parametrize("words", READERS)
def test_a_folder_in_its_place_is_no_database(told, tmp_path, words):
    (tmp_path / "c2s.sqlite3").mkdir()
    code, said = told(words)
    assert (code, "there is no database" in said) == (2, True)


@pytest.mark.parametrize("words", READERS)
def test_where_there_is_no_database_none_is_made(told, tmp_path, words):
    code, said = told(words)
    assert (code, "there is no database" in said) == (2, True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words", READERS)
def test_a_database_without_our_tables_is_sent_to_the_migration(told, tmp_path, words):
    (tmp_path / "c2s.sqlite3").touch()
    code, said = told(words)
    assert (code, "`c2s migrate`" in said) == (2, True)
