"""Pages from templates: every value is escaped, and scripts and styles come from our own files alone."""

import functools
from collections.abc import Callable, Coroutine
from http import HTTPStatus
from pathlib import Path
from typing import Any

import jinja2
from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse
from starlette.requests import HTTPConnection

from app import limits
from app.api import admission, problems, strict
from app.core import errors, sessions
from app.core.callers import NOBODY, Caller
from app.ui import words

FOLDER = Path(__file__).parent
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


@functools.cache
def _templates() -> jinja2.Environment:
    loader = jinja2.FileSystemLoader(FOLDER / "templates")
    found = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    found.filters |= words.FILTERS
    return found


def reads(connection: HTTPConnection) -> bool:
    """Whether a person will read the answer."""
    return "text/html" in connection.headers.get("accept", "")


def caller(request: Request) -> Caller:
    """Who looks at a page."""
    found: Caller = getattr(request.state, "caller", NOBODY)
    return found


def page(request: Request, template: str, *, status: int = 200, **values: Any) -> Response:
    """A page of ours."""
    who = caller(request)
    token = sessions.csrf_token(admission.cookie(request)) if who.by_cookie else ""
    known = {"version": request.app.version, "csrf": token, "who": who, "path": request.url.path}
    body = _templates().get_template(template).render(known | values)
    return HTMLResponse(body, status, headers=HEADERS)


def login(request: Request, *, said: str = "", foreign: bool = False) -> Response:
    """The page to log in on; `foreign`: the browser may hold a session that it did not show."""
    answer = page(request, "login.html", status=HTTPStatus.UNAUTHORIZED, said=said, foreign=foreign)
    answer.headers["WWW-Authenticate"] = problems.CHALLENGE
    return answer


class Paged(strict.Strict):
    """A route whose errors are pages, too, where a person will read them."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def paged(request: Request) -> Response:
            try:
                return await handle(request)
            except (errors.ServiceError, RequestValidationError) as exc:
                if not reads(request):
                    raise
                found = problems.invalid(exc.errors()) if isinstance(exc, RequestValidationError) else exc
                limits.note(request.scope, found)
                if found.status == HTTPStatus.UNAUTHORIZED:  # the address held a token that is none
                    return login(request, said="The token in the address is wrong.")
                return page(request, "problem.html", status=found.status, problem=found)

        return paged
