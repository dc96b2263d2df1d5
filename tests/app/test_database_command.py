"""`c2s db upgrade`, and its older name: the same migrations."""

import pytest

from app import cli
from app.core import settings


@pytest.mark.parametrize("words", [["db", "upgrade"], ["migrate"]])
def test_a_database_is_brought_to_this_version(tmp_path, monkeypatch, words):
    monkeypatch.setenv("C2S_HOME", str(tmp_path))
    settings.load.cache_clear()
    assert cli.main(words) == 0
    assert (tmp_path / "c2s.sqlite3").exists()
    settings.load.cache_clear()
