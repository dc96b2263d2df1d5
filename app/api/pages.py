"""Pages for a browser: where one lands, and the reference; no script, nothing from elsewhere."""

import dataclasses
import html
from typing import Annotated

from fastapi import APIRouter, Query, Request
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
LANDING = """<h1>c2s {version} is running</h1>
<p>It turns data with wrong labels into a classifier that predicts the right ones, and says how
wrong the labels are.</p>
<ul><li><a href="/reference">Reference</a> of every request and answer, <a href="/openapi.json">as OpenAPI 3.1</a></li>
<li><a href="/jobs">Jobs</a>, <a href="/datasets">datasets</a>, <a href="/models">models</a> (JSON)</li>
<li><a href="/methods">Methods</a> and <a href="/nets">nets</a> with their settings (JSON)</li></ul>
<h2>From a file to a classifier</h2>
<pre>TOKEN=...   # as `c2s up` printed it
curl -H "Authorization: Bearer $TOKEN" -X POST -T data.csv "{address}/datasets?name=mine&amp;label=y"
curl -H "Authorization: Bearer $TOKEN" --json '{{"dataset_id": "ds_..."}}' {address}/jobs
curl -H "Authorization: Bearer $TOKEN" -H "Accept: text/event-stream" -N {address}/jobs/job_.../events
curl -H "Authorization: Bearer $TOKEN" {address}/jobs/job_.../transition
curl -H "Authorization: Bearer $TOKEN" --json '{{"model": "mdl_...", "inputs": [...]}}' {address}/predict</pre>"""


@router.get(
    "/",
    summary="What is running",
    response_class=HTMLResponse,
    responses={303: {"description": "The key is right: a session begins, kept as a cookie"}},
)
def landing(request: Request, token: Annotated[str | None, Query(max_length=1000)] = None) -> Response:
    if token is not None:
        return _welcome(request, token)
    address = html.escape(str(request.base_url).rstrip("/"))
    body = LANDING.format(version=html.escape(request.app.version), address=address)
    return HTMLResponse(reference.document_of("c2s", body), headers=HEADERS)


def _welcome(request: Request, token: str) -> Response:
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
