"""Who a request comes from: a key in its head, or a session in its cookie; in which project; and how often.

A key is sent on purpose; a cookie is sent by the browser whoever asked it to. So a change by cookie must also show the
token that only a page of ours can know, and must not come from elsewhere.
"""

import http.cookies
import urllib.parse

import anyio
import anyio.to_thread
from sqlalchemy.exc import SQLAlchemyError
from starlette.requests import HTTPConnection

from app import heads
from app.core import access, errors, ids, ratelimits, sessions
from app.core.callers import BOOTSTRAP, Caller
from app.core.keyring import Bootstrap, Keyring
from app.core.ledger import Ledger

COOKIE, CSRF, PROJECT = "c2s", "x-csrf-token", b"c2s-project"
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
OURS = ("", "none", "same-origin")  # Sec-Fetch-Site of a page of ours, a typed address, or no browser
LOOKS = 4  # secrets that are looked up at once: strangers with made-up ones must not take every connection


class Admission:
    """Decides whom a request lets in."""

    def __init__(self, token: str) -> None:
        self.bootstrap = Bootstrap(token)
        self._turns = anyio.CapacityLimiter(LOOKS)

    async def admit(self, connection: HTTPConnection) -> tuple[Caller, ratelimits.Standing | None]:
        """The caller, and what is left of its rate; raises for strangers."""
        caller = await self._caller(connection)
        if (project := heads.of(connection.scope).get(PROJECT)) is not None:
            caller = await self._elsewhere(connection, caller, project.decode("latin-1"))
        standing = None
        if caller.rate is not None:
            buckets: ratelimits.Buckets = connection.app.state.buckets
            standing = await buckets.take(caller.key_id, caller.rate)
        if caller.key_id != BOOTSTRAP:
            ledger: Ledger = connection.app.state.ledger
            ledger.used(caller.key_id)
        return caller, standing

    async def still(self, connection: HTTPConnection) -> bool:
        """Whether a request would be let in now: what an answer that goes on for hours asks again and again."""
        try:
            await self._caller(connection)
        except errors.Unauthorized:
            return False
        except SQLAlchemyError:  # who was let in stays while nobody can be asked
            return True
        return True

    async def _caller(self, connection: HTTPConnection) -> Caller:
        scheme, _, secret = heads.text(connection.scope, b"authorization").partition(" ")
        if scheme.lower() == "bearer":
            found = await self._known(connection, "key", secret.strip())
        # Cookies know no ports: a page of another server on this machine could have the browser send ours.
        elif connection.headers.get("sec-fetch-site", "") in OURS and (value := cookie(connection)):
            found = await self._known(connection, "session", value)
            if found is not None:
                _check_origin(connection, value)
        else:
            found = None
        if found is None:
            raise errors.Unauthorized("send a key that is valid as `Authorization: Bearer KEY`")
        return found

    async def _known(self, connection: HTTPConnection, kind: str, secret: str) -> Caller | None:
        if kind == "key" and (operator := self.bootstrap.caller(secret)) is not None:
            return operator
        ring: Keyring | None = getattr(connection.app.state, "keyring", None)
        if ring is None:  # the service is only starting
            return None
        if (caller := ring.known(kind, secret)) is not None:
            return caller
        return await anyio.to_thread.run_sync(ring.look_up, kind, secret, limiter=self._turns)

    async def _elsewhere(self, connection: HTTPConnection, caller: Caller, project: str) -> Caller:
        if project == caller.project_id:
            return caller
        if not caller.may("admin"):
            raise errors.Forbidden("only an admin may work in another project")
        if not ids.valid("prj", project):
            raise errors.NotFound("there is no such project")
        ring: Keyring = connection.app.state.keyring
        return await anyio.to_thread.run_sync(ring.in_project, caller, project, limiter=self._turns)


def _check_origin(connection: HTTPConnection, value: str) -> None:
    """Refuse a change that a page of somebody else's may have sent."""
    if connection.scope["method"] in SAFE:
        return
    headers = connection.headers
    origin = headers.get("origin")
    foreign = origin is not None and urllib.parse.urlsplit(origin).netloc != headers.get("host", "")
    if foreign or not access.matches(headers.get(CSRF, ""), sessions.csrf_token(value)):
        raise errors.Forbidden("a change by cookie needs X-CSRF-Token, as GET /session tells it", code="csrf")


def cookie(connection: HTTPConnection) -> str:
    """What our cookie holds; empty: nothing."""
    try:
        found = http.cookies.SimpleCookie(connection.headers.get("cookie", "")).get(COOKIE)
    except http.cookies.CookieError:
        return ""
    return found.value if found else ""
