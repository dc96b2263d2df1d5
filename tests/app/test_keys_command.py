"""`c2s keys`: what a person at the machine can do without a key."""

import pytest

from app import cli
from app.core import settings


@pytest.fixture
def c2s(service, monkeypatch, capsys):
    monkeypatch.setenv("C2S_HOME", str(service.settings.root))
    settings.load.cache_clear()  # a command is a process of its own

    def run(*words):
        code = cli.main(["keys", *words])
        return code, *capsys.readouterr()

    yield run
    settings.load.cache_clear()


def test_a_key_made_at_the_machine_lets_in_until_it_is_revoked(c2s, service):
    code, secret, said = c2s("make", "nightly", "--scopes", "read")
    assert code == 0
    assert "shown only now" in said
    key_id = said.split()[1].rstrip(";")
    with service.client(secret.strip()) as http:
        assert http.get("/jobs").status_code == 200
        assert http.post("/jobs", json={}).status_code == 403
    _, listed, _ = c2s()
    assert key_id in listed
    assert "nightly" in listed
    assert secret.strip() not in listed
    assert c2s("revoke", key_id)[0] == 0
    assert "revoked" in c2s("list")[1]
    service.app.state.keyring.forget()  # what a service remembers of a key lasts 5 seconds
    with service.client(secret.strip()) as http:
        assert http.get("/jobs").status_code == 401
    actions = [entry["action"] for entry in service.http.get("/audit").json()["data"]]
    assert actions == ["key.revoke", "key.create"]


@pytest.mark.parametrize(
    ("words", "said", "code"),
    [
        (("make", "x", "--scopes", "read,fly"), "no scope 'fly'", 2),
        (("make", "x", "--project", "prj_none"), "no project", 3),
        (("make", "x", "--days", "-1"), "more than 0 days", 2),
        (("revoke", "key_none"), "no key", 3),
    ],
)
def test_what_cannot_be_is_refused_with_the_code_that_other_commands_have_for_it(c2s, words, said, code):
    ended, _, error = c2s(*words)
    assert ended == code
    assert said in error


def test_an_empty_list_says_how_to_begin(c2s):
    assert "c2s keys make NAME" in c2s("list")[1]
