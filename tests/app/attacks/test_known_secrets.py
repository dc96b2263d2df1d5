"""A17, a secret that is the same everywhere, that others can read, or that can be guessed by the clock."""

import ast
import math
import secrets
import stat
from pathlib import Path

import pytest

import app
from app.core import access, keys
from app.core.settings import Settings

SOURCES = sorted(Path(app.__file__).parent.rglob("*.py"))
SECRET_WORDS = ("secret", "token", "sha256", "csrf", "digest")


def test_two_fresh_installs_have_different_keys_that_only_their_owner_can_read(tmp_path):
    homes = [tmp_path / name for name in ("one", "two")]
    first, second = (access.token(Settings(home=home)) for home in homes)
    assert first != second
    for home, token in zip(homes, (first, second), strict=True):
        assert len(token) * math.log2(64) >= 256
        assert stat.S_IMODE((home / "token").stat().st_mode) == 0o600
        assert stat.S_IMODE(home.stat().st_mode) == 0o700
        assert [path.name for path in home.iterdir()] == ["token"]  # no draft is left behind
        assert access.token(Settings(home=home)) == token


@pytest.mark.parametrize("kept", ["", " \n", "a", "x" * 23])
def test_a_token_file_that_anybody_could_match_is_refused_at_the_start(tmp_path, kept):
    (tmp_path / "token").write_text(kept)
    with pytest.raises(ValueError, match="holds no token of at least 24 characters"):
        Settings(home=tmp_path)
    assert Settings(home=tmp_path, token="y" * 24).token is not None  # the file has no say then


def test_nothing_matches_an_empty_secret():
    assert not access.matches("", "")


def test_the_sources_hold_no_secret():
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
                names = [target.id.lower() for target in node.targets if isinstance(target, ast.Name)]
                secret = any(word in name for name in names for word in ("password", "secret", "api_key"))
                assert not (secret and isinstance(node.value.value, str)), path


def test_secrets_are_compared_in_constant_time(monkeypatch):
    asked = []
    real = secrets.compare_digest
    monkeypatch.setattr(access.secrets, "compare_digest", lambda *both: asked.append(both) or real(*both))
    assert access.matches("a" * 40, "a" * 40)
    assert not access.matches("é", "e")
    assert len(asked) == 2
    for path in SOURCES:  # and nowhere by ==
        if path.name not in ("keys.py", "keyring.py", "sessions.py", "admission.py", "guard.py", "pages.py"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Eq | ast.NotEq):
                named = [part for part in (node.left, *node.comparators) if isinstance(part, ast.Attribute)]
                values = [part.attr for part in named if not isinstance(part.value, ast.Name)]
                values += [part.id for part in (node.left, *node.comparators) if isinstance(part, ast.Name)]
                assert not any(word in value for value in values for word in SECRET_WORDS), path


def test_what_is_kept_of_a_key_does_not_lead_back_to_it():
    assert keys.digest("c2s_x") != keys.digest("c2s_y")
    assert len(keys.digest("x")) == 64
