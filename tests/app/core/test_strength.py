"""Secrets that can be guessed are refused before anything listens."""

import pytest
from pydantic import ValidationError

from app.core import strength
from app.core.settings import Settings

STRONG = "9f86d081884c7d659a2feaa0c55ad015"
DATABASE = "postgresql+psycopg://c2s:{}@postgres:5432/c2s"
BROKER = "redis://:{}@redis:6379/0"


@pytest.mark.parametrize(
    ("secret", "said"),
    [
        ("", "fewer than 16"),
        ("9f86d081884c7d6", "fewer than 16"),
        ("ababababababababab", "different characters"),
        ("ChangeMe-0b93cc17e5", "everybody tries"),
        ("postgres0b93cc17e5", "everybody tries"),
    ],
)
def test_a_secret_that_can_be_guessed_is_named_but_not_repeated(secret, said):
    found = strength.weakness(secret)
    assert said in found
    assert not secret or secret not in found


def test_a_random_secret_is_strong():
    assert strength.weakness(STRONG) is None


@pytest.mark.parametrize("field", ["database_url", "broker_url"])
@pytest.mark.parametrize("weak", ["", "c2s", "changeme-changeme-changeme"])
def test_a_server_elsewhere_needs_a_strong_password(field, weak):
    address = DATABASE if field == "database_url" else BROKER
    assert Settings(**{field: address.format(STRONG)})
    with pytest.raises(ValidationError, match=f"C2S_{field.upper()}") as refused:
        Settings(**{field: address.format(weak)})
    assert "make-env" in refused.value.errors()[0]["msg"]


def test_a_token_seen_by_others_must_be_strong():
    assert Settings(token="t" * 32)
    with pytest.raises(ValidationError, match="C2S_TOKEN"):
        Settings(host="0.0.0.0", token="t" * 32)  # noqa: S104
    assert Settings(host="0.0.0.0", token=STRONG)  # noqa: S104


def test_servers_on_this_machine_and_without_passwords_are_not_judged():
    assert Settings(database_url="postgresql+psycopg://c2s:c2s@127.0.0.1/c2s")
    assert Settings(database_url="postgresql+psycopg://c2s@db.internal/c2s?sslcert=client.crt")
