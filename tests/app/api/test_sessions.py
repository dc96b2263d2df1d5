"""A browser's session: opened with a key, kept in a cookie, ended by its user, its key, or time."""

import contextlib
import time

import pytest
from sqlalchemy import select, update

from app.core import keys, sessions
from app.core.ownership import Login


@contextlib.contextmanager
def browser(shared, secret=None):
    """A client that has a cookie and no key."""
    token = secret or shared.http.headers["Authorization"].split()[1]
    with shared.client() as http:
        assert http.post("/session", headers={"Authorization": f"Bearer {token}"}).status_code == 201
        yield http


@pytest.fixture
def page(shared):
    with browser(shared) as http:
        yield http


def csrf(http):
    return {"X-CSRF-Token": http.get("/session").json()["csrf_token"]}


def test_a_key_opens_a_session_and_the_cookie_is_not_the_key(shared):
    made = shared.key("read")
    with shared.client() as http:
        answer = http.post("/session", headers={"Authorization": f"Bearer {made['secret']}"})
        assert answer.status_code == 201
        parts = answer.headers["Set-Cookie"].split("; ")
        assert {"HttpOnly", "SameSite=strict", "Path=/", f"Max-Age={int(sessions.SECONDS)}"} <= set(parts)
        assert "Secure" not in parts  # plain HTTP on loopback
        value = parts[0].removeprefix("c2s=")
        assert made["secret"] not in answer.headers["Set-Cookie"]
        assert len(value) == 43
        who = http.get("/session").json()
        assert (who["key_id"], who["scopes"]) == (made["id"], ["read"])
        assert who["csrf_token"] == answer.json()["csrf_token"] != value
        assert http.get("/jobs").status_code == 200
        assert http.post("/jobs", json={}, headers=csrf(http)).status_code == 403  # the key's scopes hold
        with shared.database.read() as tx:
            kept = tx.scalars(select(Login.id)).all()
        assert keys.digest(value) in kept
        assert value not in kept
        assert http.get("/jobs", headers={"Authorization": f"Bearer {value}"}).status_code == 401  # no key


def test_a_cookie_is_secure_behind_tls(shared):
    headers = {"Authorization": shared.http.headers["Authorization"], "X-Forwarded-Proto": "https"}
    with shared.client() as http:
        answer = http.post("/session", headers=headers)
    assert "Secure" in answer.headers["Set-Cookie"].split("; ")
    assert "max-age" in answer.headers["Strict-Transport-Security"]


def test_logging_out_ends_the_session_for_whoever_has_the_cookie(shared, page):
    stolen = page.cookies["c2s"]
    assert page.delete("/session", headers=csrf(page)).status_code == 204
    assert "c2s" not in page.cookies
    with shared.client() as thief:
        assert thief.get("/jobs", headers={"Cookie": f"c2s={stolen}"}).status_code == 401


def test_a_session_ends_with_its_key(shared):
    made = shared.key("read")
    with browser(shared, made["secret"]) as http:
        assert http.get("/jobs").status_code == 200
        shared.http.delete(f"/keys/{made['id']}")
        assert http.get("/jobs").status_code == 401


def test_a_session_ends_with_time(shared, page):
    assert page.get("/jobs").status_code == 200
    with shared.database.begin() as tx:
        mine = keys.digest(page.cookies["c2s"])
        tx.execute(update(Login).where(Login.id == mine).values(expires_at=time.time() - 1))
    shared.app.state.keyring.forget()
    assert page.get("/jobs").status_code == 401


def test_a_new_token_ends_the_sessions_of_the_old_one(tmp_path, run_service):
    with run_service(tmp_path, token="a" * 32) as service, browser(service) as http:
        value = http.cookies["c2s"]
        assert http.get("/jobs").status_code == 200
    with run_service(tmp_path, token="b" * 32) as service, service.client() as http:
        assert http.get("/jobs", headers={"Cookie": f"c2s={value}"}).status_code == 401


def test_a_session_cannot_open_another(page):
    answer = page.post("/session", headers=csrf(page))
    assert answer.status_code == 401


def test_a_key_needs_no_csrf_token_and_is_told_none(shared):
    assert shared.http.get("/session").json()["csrf_token"] is None
    assert shared.http.post("/jobs", json={}).status_code == 422
    assert shared.http.delete("/session").status_code == 204
