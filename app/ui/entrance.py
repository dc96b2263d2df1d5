"""The way in for a person without a session: a page at the very address that was asked for, so none is redirected."""

from http import HTTPStatus

from fastapi import Request, Response
from starlette.requests import HTTPConnection

from app.api import admission
from app.core import errors
from app.ui import rendering

PAGES = ("/", "/reference")  # and all below /ui/


def greet(connection: HTTPConnection, error: errors.ServiceError) -> Response | None:
    """The page to log in on, for a browser that opens a page of ours; None: whoever asks wants the problem itself."""
    path = connection.scope["path"]
    ours = path in PAGES or path.startswith("/ui/")
    if error.status != HTTPStatus.UNAUTHORIZED or connection.scope["method"] != "GET" or not ours:
        return None
    if not rendering.reads(connection):
        return None
    # a link on another site brings no cookie, also where there is a session: the script asks once more
    foreign = connection.headers.get("sec-fetch-site", "") not in admission.OURS
    return rendering.login(Request(connection.scope), foreign=foreign)
