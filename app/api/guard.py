"""What a request must show before any handler sees it: a host that is ours, and a key or a session."""

import functools
import ipaddress
import re
from collections.abc import Callable

from starlette.requests import ClientDisconnect, HTTPConnection
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from app import heads, limits
from app.api import admission, problems, scopes
from app.core import errors, ratelimits
from app.core.settings import LOOPBACK

OPEN = scopes.OPEN  # probes carry no key
COOKIE = admission.COOKIE
HOST = re.compile(r"(\[(?P<six>[0-9a-f:.]+)\]|(?P<name>[a-z0-9._-]+))(:[0-9]{0,5})?")

Greeting = Callable[[HTTPConnection, errors.ServiceError], Response | None]


class Guard:
    """Refuses foreign hosts (421), strangers (401) and the hasty (429); what nobody foresaw is a plain 500.

    Stands inside `limits.Limits`, which knows whether an answer has begun and adds headers to it.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        admission: admission.Admission,
        host: str,
        allowed: str = "",
        greet: Greeting = lambda connection, error: None,
    ) -> None:
        self._app, self._admission, self._greet = app, admission, greet
        named = {name.strip().lower() for name in allowed.split(",") if name.strip()}
        anywhere = _everywhere(host) and not named  # which names lead here is then not ours to know
        self._hosts = None if anywhere else {*LOOPBACK, host.lower(), *named}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        exchange: limits.Exchange = scope[limits.PLACE]
        try:
            standing = await self._check(HTTPConnection(scope))
            if standing is not None:
                exchange.extra += standing.headers()
                if not standing.granted:
                    detail = f"at most {standing.rate} requests a minute"
                    raise ratelimits.Limited(detail, retry_after=standing.wait())
            await self._app(scope, receive, send)
        except ClientDisconnect:
            raise
        except Exception as exc:
            error = problems.of(exc)
            if not isinstance(exc, errors.ServiceError):
                problems.complain(scope, exc, error)
            limits.note(scope, error)
            if exchange.started:
                raise
            answer = self._greet(HTTPConnection(scope), error)
            answer = answer or problems.answer(error, exchange.request_id, path=scope["path"])
            await answer(scope, receive, send)

    async def _check(self, connection: HTTPConnection) -> ratelimits.Standing | None:
        if self._hosts is not None and _name(heads.text(connection.scope, b"host")) not in self._hosts:
            raise problems.Misdirected("the Host header names another service")
        path = connection.scope["path"]  # never of the URL, which the Host header is part of
        if path in OPEN or path.startswith(scopes.OPEN_BELOW):
            return None
        if path == "/" and "token" in connection.query_params:  # the page checks it itself
            return None
        caller, standing = await self._admission.admit(connection)
        connection.scope.setdefault("state", {})["caller"] = caller
        return standing


@functools.lru_cache(64)
def _name(host: str) -> str:
    """The name in a Host header, without the port; empty if the header is anything else."""
    found = HOST.fullmatch(host.lower())
    return (found["six"] or found["name"]) if found else ""


def _everywhere(host: str) -> bool:
    """Whether the service listens on every address."""
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return host == ""
