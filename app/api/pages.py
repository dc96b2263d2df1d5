"""Pages that belong to the API: the way in with a key, and the reference; no script, nothing from elsewhere."""

import dataclasses

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from app.api import codes, problems, reference, sessions, strict
from app.core import errors

router = APIRouter(route_class=strict.Strict, tags=["pages"], responses=problems.documented())
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


def welcome(request: Request, token: str) -> Response:
    """A session for the one who shows a key in the address, and the address without it."""
    state = request.app.state
    caller = state.admission.bootstrap.caller(token) or state.keyring.look_up("key", token)
    if caller is None:
        raise errors.Unauthorized("the token is wrong")
    answer = RedirectResponse("/", status_code=303, headers=HEADERS)
    caller = dataclasses.replace(caller, request_id=problems.request_id(request))
    sessions.set_cookie(request, answer, sessions.start(state.database, caller, token))
    return answer


@router.get("/problems/{code}", include_in_schema=False)
def explain(code: codes.Code) -> Response:
    """Where the `type` of a problem leads."""
    return RedirectResponse("/reference#codes", status_code=303)


@router.get("/reference", summary="This reference as a page", response_class=HTMLResponse)
def show_reference(request: Request) -> Response:
    return HTMLResponse(reference.page(reference.document(request.app)), headers=HEADERS)
