"""A18, a page of somebody else's that makes a browser talk to us: DNS rebinding, and requests by cookie."""

import pytest

from app import limits

STRONG = "4f1c9a7be2d8306b5a4f1c9a7be2d830"
CHANGES = [
    ("POST", "/jobs"),
    ("POST", "/datasets"),
    ("POST", "/keys"),
    ("DELETE", "/session"),
    ("POST", "/predict"),
]


@pytest.fixture
def page(shared):
    """A browser that is logged in: it has the cookie, and the token that GET /session told."""
    with shared.client() as http:
        answer = http.post("/session", headers={"Authorization": shared.http.headers["Authorization"]})
        yield http, answer.json()["csrf_token"]


@pytest.mark.parametrize(("verb", "path"), CHANGES)
def test_a_change_by_cookie_needs_the_token_of_our_page(page, verb, path):
    http, token = page
    for headers in ({}, {"X-CSRF-Token": ""}, {"X-CSRF-Token": "0" * 64}, {"X-CSRF-Token": token[:-1]}):
        answer = http.request(verb, path, headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (403, "csrf"), headers


def test_the_token_opens_and_a_foreign_origin_closes_again(shared, page):
    http, token = page
    mine = {"X-CSRF-Token": token}
    assert http.post("/jobs", json={}, headers=mine).status_code == 422
    for ours in ({"Origin": shared.address}, {"Sec-Fetch-Site": "same-origin", "Origin": shared.address}):
        assert http.post("/jobs", json={}, headers=mine | ours).status_code == 422
    for foreign in ("https://evil.example", "null", shared.address + ".evil.example", "http://127.0.0.1:1"):
        answer = http.post("/jobs", json={}, headers=mine | {"Origin": foreign})
        assert (answer.status_code, answer.json()["code"]) == (403, "csrf")
    for site in ("cross-site", "same-site"):
        assert http.post("/jobs", json={}, headers=mine | {"Sec-Fetch-Site": site}).status_code == 401
        assert http.get("/jobs", headers={"Sec-Fetch-Site": site}).status_code == 401  # nor may it read


def test_the_token_of_one_session_is_not_that_of_another(shared, page):
    http, _ = page
    with shared.client() as other:
        key = {"Authorization": shared.http.headers["Authorization"]}
        token = other.post("/session", headers=key).json()["csrf_token"]
    assert http.post("/jobs", json={}, headers={"X-CSRF-Token": token}).status_code == 403


def test_no_other_origin_is_told_anything(shared):
    asking = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    for verb in ("OPTIONS", "GET", "POST"):
        answer = shared.http.request(verb, "/jobs", headers=asking)
        assert not [name for name in answer.headers if name.startswith("access-control-")]
        assert verb != "OPTIONS" or answer.status_code >= 400


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.nip.io", "localhost.evil.example", "c2s.example", ""]
)
def test_a_rebound_name_is_421_with_the_right_key_and_with_the_cookie(shared, page, host):
    assert shared.http.get("/jobs", headers={"Host": host}).status_code == 421
    assert page[0].get("/jobs", headers={"Host": host}).status_code == 421
    assert shared.http.get("/livez", headers={"Host": host}).status_code == 421


def test_a_public_service_answers_to_the_names_that_it_was_given(tmp_path, run_service):
    public = {"host": "0.0.0.0", "token": STRONG, "allowed_hosts": "c2s.example, www.c2s.example"}  # noqa: S104
    with run_service(tmp_path, **public) as service:
        for host in ("c2s.example", "C2S.example:443", "www.c2s.example", "localhost", "127.0.0.1:1"):
            assert service.http.get("/jobs", headers={"Host": host}).status_code == 200
        for host in ("evil.example", "c2s.example.evil.example", "xc2s.example", "c2s.example@evil"):
            assert service.http.get("/jobs", headers={"Host": host}).status_code == 421


def test_every_answer_tells_browsers_to_keep_their_hands_off(shared):
    with shared.client() as stranger:
        answers = [
            shared.http.get("/"),
            shared.http.get("/jobs"),
            shared.http.get("/livez"),
            shared.http.get("/nowhere"),
            shared.http.post("/jobs", json={}),
            shared.http.post("/jobs", data={"a": "b"}),
            shared.http.get("/jobs", headers={"Host": "evil.example"}),
            shared.http.delete("/session"),
            stranger.get("/jobs"),
        ]
    for answer in answers:
        for name in limits.SECURITY:
            assert answer.headers[name.decode()], (answer.url, name)
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers.get_list("Content-Security-Policy", split_commas=False)[1:] == []
        assert "server" not in answer.headers
        assert "strict-transport-security" not in answer.headers  # plain HTTP
