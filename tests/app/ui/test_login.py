"""A stranger who opens a page is shown where to log in, at the address that was asked for; programs get the problem."""

import re

import pytest

HTML = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
PAGES = (
    "/",
    "/reference",
    "/ui/jobs",
    "/ui/jobs/job_1/review?given=a",
    "/ui/admin",
    "/ui/none",
    "/?token=wrong",
)


@pytest.fixture
def stranger(shared):
    with shared.client() as http:
        yield http


@pytest.mark.parametrize("path", PAGES)
def test_a_page_without_a_session_is_the_page_to_log_in_on(stranger, path):
    answer = stranger.get(path, headers=HTML)
    assert (answer.status_code, "Location" in answer.headers) == (401, False)
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    assert answer.headers["Cache-Control"] == "no-store"
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    assert "unsafe" not in answer.headers["Content-Security-Policy"]
    assert '<form id="login"' in answer.text
    assert 'content=""' in answer.text  # no token against forgery: nobody is logged in
    assert ("The token in the address is wrong." in answer.text) == ("token" in path)
    assert set(re.findall(r'href="(/[^"]*)"', answer.text)) == {
        "/", "/ui/static/icon.svg", "/ui/static/style.css", "/ui/static/login.css",
    }  # fmt: skip


@pytest.mark.parametrize(("verb", "path", "accept"), [
    ("GET", "/jobs", "text/html"), ("GET", "/ui/jobs", "application/json"), ("GET", "/ui/jobs", "*/*"),
    ("POST", "/ui/jobs", "text/html"), ("GET", "/session", "text/html"), ("GET", "/none", "text/html"),
])  # fmt: skip
def test_whoever_does_not_open_a_page_is_told_the_problem(stranger, verb, path, accept):
    answer = stranger.request(verb, path, headers={"Accept": accept})
    assert (answer.status_code, answer.json()["code"]) == (401, "unauthorized")
    assert answer.headers["Content-Type"] == "application/problem+json"


def test_what_the_page_is_made_of_needs_no_key_and_nothing_else_is_open(stranger):
    text = stranger.get("/", headers=HTML).text
    for path in re.findall(r'(?:src|href)="(/ui/static/[^"]+)"', text):
        assert stranger.get(path).status_code == 200
    for path in ("/ui/static/../jobs", "/ui/static/%2e%2e/jobs", "/ui/static/", "/ui/static/none"):
        assert stranger.get(path).status_code in (401, 404)


def test_a_link_on_another_site_is_told_apart_so_that_a_session_can_be_found(shared):
    with shared.client() as http:
        key = {"Authorization": shared.http.headers["Authorization"]}
        assert http.post("/session", headers=key).status_code == 201
        assert http.get("/ui/jobs", headers=HTML | {"Sec-Fetch-Site": "none"}).status_code == 200
        foreign = http.get("/ui/jobs", headers=HTML | {"Sec-Fetch-Site": "cross-site"})
        assert foreign.status_code == 401
        assert "data-foreign" in foreign.text
    with shared.client() as http:
        assert "data-foreign" not in http.get("/", headers=HTML).text
