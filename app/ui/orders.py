"""The page that makes a job: choices with their defaults, a forecast while choosing, and the same call as code."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from app.api import catalog, datasets, deps, problems
from app.core import ids
from app.ui import rendering

router = APIRouter(
    prefix="/ui/new", route_class=rendering.Paged, include_in_schema=False, responses=problems.documented()
)
SUITS = {  # what each net reads; those not named here read vectors and tables
    "auto": "any",
    "lenet": "image",
    "lenet-5": "image",
    "shake-shake-26": "image",
    "resnet-56": "image",
    "resnet-50": "image",
    "text": "text",
}


@router.get("")
def show(
    request: Request,
    database: deps.Db,
    dataset: Annotated[str | None, Query(pattern=ids.pattern("ds"))] = None,
) -> Response:
    known = datasets.index(database, deps.Cursor(limit=100)).data
    return rendering.page(
        request,
        "order.html",
        address=str(request.base_url).rstrip("/"),
        chosen=dataset,
        datasets=[one for one in known if one.state == "ready"],
        methods=catalog.methods().data,
        nets=catalog.nets().data,
        suits=SUITS,
    )
