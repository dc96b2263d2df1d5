"""Keys over HTTP: the secret is shown once and kept nowhere, scopes hold, expiry and revocation end a key."""

import datetime
import json
import re
import time

import pytest
from sqlalchemy import select, text, update

from app.core import ids, keys
from app.core.ownership import Key


def after(seconds):
    return (datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=seconds)).isoformat()


def status(service, secret, path="/jobs"):
    with service.client(secret) as http:
        return http.get(path).status_code


def test_a_key_is_shown_once_and_lets_in(shared):
    made = shared.key("read", "write")
    assert re.fullmatch(r"c2s_[0-9a-f]{12}_[A-Za-z0-9_-]{43}", made["secret"])  # 43 of these are 256 bits
    assert made["secret"].startswith(made["prefix"])
    assert made["scopes"] == ["read", "write"]
    assert status(shared, made["secret"]) == 200
    shown = shared.http.get(f"/keys/{made['id']}").json()
    assert "secret" not in shown
    assert shown == {name: value for name, value in made.items() if name != "secret"}
    listed = shared.http.get("/keys?limit=1").json()
    assert listed["data"] == [shown]
    assert made["secret"] != shared.key("read")["secret"]


def test_no_table_holds_a_secret(shared):
    secret = shared.key("read")["secret"]
    assert status(shared, secret) == 200
    token = shared.http.headers["Authorization"].split()[1]
    shared.app.state.ledger.write()
    with shared.database.read() as tx:
        names = tx.scalars(text("SELECT name FROM sqlite_master WHERE type = 'table'")).all()
        everything = json.dumps(
            [[list(row) for row in tx.execute(text(f'SELECT * FROM "{name}"'))] for name in names],  # noqa: S608
            default=str,
        )
        assert keys.digest(secret) in everything
    assert secret not in everything
    assert secret.split("_", 2)[2] not in everything
    assert token not in everything


def test_a_wrong_secret_with_a_right_prefix_lets_nobody_in(shared):
    secret = shared.key("read")["secret"]
    other = shared.key("read")["secret"]
    mixed = secret[:17] + other[17:]
    for wrong in (mixed, secret[:-1], secret + "A", secret.upper(), secret[:17] + "A" * 43, "c2s_", ""):
        assert status(shared, wrong) == 401


def test_a_key_ends_when_it_expires_or_is_revoked(shared):
    brief = shared.key("read", expires_at=after(1.5))
    assert status(shared, brief["secret"]) == 200
    revoked = shared.key("read")
    assert status(shared, revoked["secret"]) == 200
    for _ in range(2):
        assert shared.http.delete(f"/keys/{revoked['id']}").status_code == 204
    assert status(shared, revoked["secret"]) == 401  # at once, in the process that revoked it
    assert shared.http.get(f"/keys/{revoked['id']}").json()["revoked_at"]
    time.sleep(1.6)
    assert status(shared, brief["secret"]) == 401


@pytest.mark.parametrize("late", ["9999-12-31T23:59:59.9999999Z", "9999-12-31T23:59:59-23:59"])
def test_a_key_that_ends_after_the_year_9999_is_refused_and_not_made(shared, late):
    before = shared.http.get("/keys?limit=1").json()["data"]
    answer = shared.http.post("/keys", json={"name": "late", "scopes": ["read"], "expires_at": late})
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/expires_at")
    assert shared.http.get("/keys?limit=1").json()["data"] == before
    assert shared.key("read", expires_at="9999-12-31T23:59:59Z")["expires_at"] == "9999-12-31T23:59:59.000Z"


def test_a_key_of_before_that_ends_later_than_can_be_told_is_listed_and_revoked(shared):
    made = shared.key("read")
    with shared.database.begin() as tx:
        tx.execute(update(Key).where(Key.id == made["id"]).values(expires_at=253402387199.0))
    listed = shared.http.get("/keys?limit=1").json()["data"]
    assert [key["expires_at"] for key in listed] == ["9999-12-31T23:59:59.000Z"]
    assert shared.http.delete(f"/keys/{made['id']}").status_code == 204


def test_a_revocation_elsewhere_is_known_within_seconds(shared, monkeypatch):
    monkeypatch.setattr("app.core.keyring.FRESH_SECONDS", 0.3)
    made = shared.key("read")
    assert status(shared, made["secret"]) == 200
    with shared.database.begin() as tx:  # as another process would
        keys.revoke(tx, made["id"])
    deadline = time.monotonic() + 10
    while status(shared, made["secret"]) == 200:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert status(shared, made["secret"]) == 401


def test_a_known_key_costs_no_look_into_sql(shared):
    secret, asked = shared.key("read")["secret"], []
    ring = shared.app.state.keyring
    look, ring.look_up = ring.look_up, lambda *given: asked.append(given) or look(*given)
    try:
        with shared.client(secret) as http:
            assert [http.get("/methods").status_code for _ in range(5)] == [200] * 5
    finally:
        ring.look_up = look
    assert len(asked) == 1


def test_the_last_use_is_written_later_and_for_all_at_once(shared):
    made = shared.key("read")
    before = time.time()
    assert status(shared, made["secret"]) == 200
    assert shared.http.get(f"/keys/{made['id']}").json()["last_used_at"] is None
    shared.app.state.ledger.write()
    used = shared.http.get(f"/keys/{made['id']}").json()["last_used_at"]
    assert datetime.datetime.fromisoformat(used).timestamp() >= before - 1


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"name": ""}, "/name"),
        ({"name": "x" * 201}, "/name"),
        ({"scopes": []}, "/scopes"),
        ({"scopes": ["root"]}, "/scopes/0"),
        ({"expires_at": after(-5)}, "/expires_at"),
        ({"expires_at": "2030-01-01T00:00:00"}, "/expires_at"),  # without a zone it means nothing
        ({"requests_per_minute": 0}, "/requests_per_minute"),
        ({"project_id": "../x"}, "/project_id"),
        ({"secret": "mine"}, "/secret"),
    ],
)
def test_what_no_key_can_be_is_refused(shared, body, pointer):
    answer = shared.http.post("/keys", json={"name": "x", "scopes": ["read"], **body})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"] == pointer


def test_a_key_of_no_project_is_refused(shared):
    body = {"name": "x", "scopes": ["read"], "project_id": ids.new("prj")}
    assert shared.http.post("/keys", json=body).status_code == 404
    assert shared.http.get(f"/keys/{ids.new('key')}").status_code == 404


def test_a_key_that_the_clock_has_passed_is_refused_even_if_it_was_never_seen(shared):
    made = shared.key("read", expires_at=after(3600))
    with shared.database.begin() as tx:
        tx.execute(update(Key).where(Key.id == made["id"]).values(expires_at=time.time() - 1))
        assert tx.scalar(select(Key.revoked_at).where(Key.id == made["id"])) is None
    assert status(shared, made["secret"]) == 401


def test_an_admin_ends_a_key_of_any_project_by_its_id(shared):
    tenant = shared.project("leaky")
    made = shared.key("read", project_id=tenant)
    assert status(shared, made["secret"]) == 200
    assert shared.http.get(f"/keys/{made['id']}").json()["project_id"] == tenant
    assert shared.http.delete(f"/keys/{made['id']}").status_code == 204
    assert status(shared, made["secret"]) == 401
