"""A database that is not there, not ours or not a database, as commands at its machine say it."""

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
