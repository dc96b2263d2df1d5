"""A browser's session: opened with a key, kept as a cookie that scripts cannot read, ended by its user."""

from fastapi import APIRouter, Request, Response

from app.api import admission, deps, problems, strict
from app.core import audit, errors, keys, sessions
from app.core.callers import Caller, Scope
from app.core.db import Database

router = APIRouter(
    prefix="/session", route_class=strict.Strict, tags=["session"], responses=problems.documented()
)
MARK = 12  # characters of a session's hash that name it in the audit


class SessionOut(deps.Out):
    """Who the caller is; with a cookie, the token that its changes must show as X-CSRF-Token."""

    key_id: str
    project_id: str
    scopes: list[Scope]
    csrf_token: str | None


def _out(caller: Caller, value: str | None) -> SessionOut:
    token = sessions.csrf_token(value) if value else None
    scopes = sorted(caller.scopes)
    return SessionOut(key_id=caller.key_id, project_id=caller.project_id, scopes=scopes, csrf_token=token)


def start(database: Database, caller: Caller, secret: str) -> str:
    """A session for whoever showed this secret."""
    with database.begin() as tx:
        value = sessions.open_(tx, caller.key_id, keys.digest(secret))
        audit.note(tx, caller, "session.open", keys.digest(value)[:MARK])
    return value


def set_cookie(request: Request, answer: Response, value: str) -> None:
    """Keep the session in the browser, out of reach of scripts and of other sites."""
    answer.set_cookie(
        admission.COOKIE,
        value,
        max_age=int(sessions.SECONDS),
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )


@router.post("", status_code=201, summary="Open a session with a key")
def open_session(request: Request, response: Response, database: deps.Db, who: deps.Who) -> SessionOut:
    if who.by_cookie:
        raise errors.Unauthorized("a session is opened with a key")
    secret = request.headers["authorization"].partition(" ")[2].strip()
    value = start(database, who, secret)
    set_cookie(request, response, value)
    response.headers["Cache-Control"] = "no-store"
    return _out(who, value)


@router.get("", summary="Who the caller is")
def show(request: Request, response: Response, who: deps.Who) -> SessionOut:
    response.headers["Cache-Control"] = "no-store"
    return _out(who, admission.cookie(request) if who.by_cookie else None)


@router.delete("", status_code=204, summary="End the session")
def close_session(request: Request, response: Response, database: deps.Db, who: deps.Who) -> None:
    value = admission.cookie(request)
    if who.by_cookie:
        with database.begin() as tx:
            sessions.close(tx, value)
            audit.note(tx, who, "session.close", keys.digest(value)[:MARK])
        request.app.state.keyring.forget()
    response.delete_cookie(admission.COOKIE, httponly=True, samesite="strict")
