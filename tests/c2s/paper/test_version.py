import shutil
from pathlib import Path

import pytest

from c2s.paper import version


@pytest.fixture(autouse=True)
def _fresh() -> None:
    version.commit.cache_clear()
    version.source.cache_clear()


def test_the_commit_is_unknown_where_git_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert version.commit() == "unknown"


def test_the_commit_is_unknown_outside_a_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(version, "PACKAGE", tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert version.commit() == "unknown"


def test_the_source_changes_with_a_file_of_the_library_and_not_with_a_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def digest() -> str:
        version.source.cache_clear()
        return version.source()

    monkeypatch.setattr(version, "PACKAGE", tmp_path)
    (tmp_path / "commands").mkdir()
    (tmp_path / "losses.py").write_text("a = 1\n")
    before = digest()
    (tmp_path / "commands" / "paper.py").write_text("b = 1\n")
    assert digest() == before
    (tmp_path / "losses.py").write_text("a = 2\n")
    assert digest() != before
