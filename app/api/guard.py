"""What a request must show before any handler sees it: a host that is ours, and the access token."""

import http.cookies
import ipaddress
import re
from collections.abc import Iterator

import structlog
from starlette.requests import ClientDisconnect, HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api import problems
from app.core import access, errors
from app.core.settings import LOOPBACK

OPEN = frozenset({"/livez", "/readyz", "/version"})  # probes carry no token
COOKIE = "c2s"
HOST = re.compile(r"(\[(?P<six>[0-9a-f:.]+)\]|(?P<name>[a-z0-9._-]+))(:[0-9]{0,5})?")
OURS = ("", "none", "same-origin")  # Sec-Fetch-Site of a page of ours, a typed address, or no browser

log = structlog.get_logger()


class Guard:
    """Refuses foreign hosts (421) and strangers (401), and turns what nobody foresaw into a plain 500."""

    def __init__(self, app: ASGIApp, *, token: str, host: str) -> None:
        self._app, self._token = app, token
        self._hosts = None if _everywhere(host) else {*LOOPBACK, host.lower()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = False

        async def watched(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        connection = HTTPConnection(scope)
        try:
            self._check(connection)
            await self._app(scope, receive, watched)
        except ClientDisconnect:
            raise
        except Exception as exc:
            error = problems.of(exc)
            if not isinstance(exc, errors.ServiceError):
                log.error("request_failed", code=error.code, path=scope["path"], exc_info=exc)
            if started:
                raise
            request_id = scope.get("state", {}).get("request_id", "")
            await problems.answer(error, request_id)(scope, receive, send)

    def _check(self, connection: HTTPConnection) -> None:
        if self._hosts is not None and _name(connection.headers.get("host", "")) not in self._hosts:
            raise problems.Misdirected("the Host header names another service")
        path = connection.scope["path"]  # never of the URL, which the Host header is part of
        if path in OPEN or (path == "/" and "token" in connection.query_params):  # the page checks it itself
            return
        if not any(access.matches(shown, self._token) for shown in _shown(connection)):
            raise errors.Unauthorized("send the token as `Authorization: Bearer TOKEN`")


def _shown(connection: HTTPConnection) -> Iterator[str]:
    scheme, _, token = connection.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        yield token.strip()
    # Cookies know no ports: a page of another server on this machine could have the browser send ours.
    if connection.headers.get("sec-fetch-site", "") in OURS:
        yield _cookie(connection.headers.get("cookie", ""))


def _cookie(header: str) -> str:
    try:
        found = http.cookies.SimpleCookie(header).get(COOKIE)
    except http.cookies.CookieError:
        return ""
    return found.value if found else ""


def _name(host: str) -> str:
    """The name in a Host header, without the port; empty if the header is anything else."""
    found = HOST.fullmatch(host.lower())
    return (found["six"] or found["name"]) if found else ""


def _everywhere(host: str) -> bool:
    """Whether the service listens on every address; which names lead to it is then not ours to know."""
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return host == ""
