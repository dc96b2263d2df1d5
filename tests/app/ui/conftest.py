"""A browser's session on the shared service."""

import pytest


@pytest.fixture(scope="module")
def browser(shared):
    """A client with a session, as a browser has it after /?token=..."""
    with shared.client() as http:
        token = shared.http.headers["Authorization"].partition(" ")[2]
        answer = http.get("/", params={"token": token})
        assert (answer.status_code, answer.headers["Location"]) == (303, "/")
        yield http
