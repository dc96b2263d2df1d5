"""Where one lands: what there is, and the way to the first job."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, Response

from app.api import datasets, deps, jobs, models, pages, problems
from app.ui import rendering

router = APIRouter(route_class=rendering.Paged, tags=["pages"], responses=problems.documented())
SHOWN = 10


@router.get(
    "/",
    summary="The dashboard",
    response_class=HTMLResponse,
    responses={303: {"description": "The key is right: a session begins, kept as a cookie"}},
)
def show(
    request: Request, database: deps.Db, token: Annotated[str | None, Query(max_length=1000)] = None
) -> Response:
    if token is not None:
        return pages.welcome(request, token)
    address = str(request.base_url).rstrip("/")
    if not rendering.caller(request).may("read"):
        return rendering.page(request, "plain.html", address=address)
    cursor = deps.Cursor(limit=SHOWN)
    found = datasets.index(database, cursor)
    trainings, published = jobs.index(database, cursor), models.index(database, cursor)
    names = {dataset.id: dataset.name for dataset in found.data}
    return rendering.page(
        request,
        "home.html",
        address=address,
        datasets=found,
        jobs=trainings,
        models=published,
        names=names,
    )
