"""Figures for Prometheus, behind the token like everything else: they tell how much is asked of the service."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from app.api import problems, strict
from app.core import metrics
from app.core.census import Census

router = APIRouter(route_class=strict.Strict, tags=["health"], responses=problems.documented())


async def _census(request: Request) -> Census:
    found: Census = request.app.state.census
    return found


@router.get(
    "/metrics",
    summary="Figures for Prometheus",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
def show(census: Annotated[Census, Depends(_census)]) -> Response:
    return Response(metrics.exposition(census), media_type=metrics.CONTENT_TYPE)
