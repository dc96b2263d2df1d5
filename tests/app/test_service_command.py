"""The commands that run the service, where there is none: what they say, and their exit codes."""

import pytest

from app import cli, embedded
from app.commands import service
from app.core import errors, settings
from c2s.commands import exits


@pytest.fixture
def home(monkeypatch, tmp_path):
    monkeypatch.setenv("C2S_HOME", str(tmp_path / "a home"))
    monkeypatch.setattr(embedded, "answers", lambda _address: False)
    settings.load.cache_clear()
    yield tmp_path / "a home"
    settings.load.cache_clear()


def test_stopping_what_does_not_run_says_where_it_looked_and_is_no_success(home, capsys):
    assert cli.main(["down"]) == exits.NOT_FOUND
    assert capsys.readouterr().err == f"c2s: c2s is not running in {home}\n"


def test_a_service_of_another_home_is_pointed_at_and_left_alone(home, capsys, monkeypatch):
    monkeypatch.setenv("C2S_PORT", "8399")
    monkeypatch.setattr(embedded, "answers", lambda address: address == "http://127.0.0.1:8399")
    assert cli.main(["down"]) == exits.NOT_FOUND
    assert (
        "another home answers at http://127.0.0.1:8399: C2S_HOME names its folder" in capsys.readouterr().err
    )


def test_only_a_service_with_an_unusual_home_prints_what_to_export(home, monkeypatch):
    assert f"export C2S_HOME='{home}'\n" in service.told_home(settings.Settings())
    monkeypatch.delenv("C2S_HOME")
    assert service.told_home(settings.Settings()) == ""
    assert settings.Settings().root == settings.Settings(home=service.HOME).root


@pytest.mark.parametrize(
    ("raised", "code"),
    [
        (errors.NotFound("x"), exits.NOT_FOUND),
        (errors.Unavailable("x"), exits.AWAY),
        (errors.Conflict("x"), exits.REFUSED),
    ],
)
def test_what_the_service_s_own_commands_raise_has_the_exit_code_of_its_kind(
    raised, code, monkeypatch, capsys
):
    def fail(*_given, **_more):
        raise raised

    monkeypatch.setattr(cli.entry, "main", fail)
    assert cli.main(["down"]) == code
    assert capsys.readouterr().err == "c2s: x\n"
