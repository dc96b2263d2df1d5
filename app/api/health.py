"""Probes and the version: the only routes without a key."""

import importlib.metadata
import platform
from typing import Literal, get_args

import anyio
import anyio.to_thread
from fastapi import APIRouter, Request

from app.api import deps, problems, strict
from app.core import errors, readiness

router = APIRouter(route_class=strict.Strict, tags=["health"], responses=problems.documented())
PROBE_SECONDS = 3.0  # for all looks together; a frozen server answers nobody
PROBES = 2  # of one kind at once: what hangs must not use up the threads of handlers and of other looks


Probes = dict[readiness.Name, anyio.CapacityLimiter]


def probes() -> Probes:
    """Room for the looks of one application."""
    return {name: anyio.CapacityLimiter(PROBES) for name in get_args(readiness.Name)}


class Health(deps.Out):
    status: Literal["ok"] = "ok"


class Check(deps.Out):
    name: readiness.Name
    state: readiness.State
    detail: str


class Ready(deps.Out):
    """`degraded`: requests are answered, but something named here is not as it should be."""

    status: Literal["ok", "degraded"]
    checks: list[Check]


class Version(deps.Out):
    name: str
    version: str
    python: str


@router.get("/livez", summary="Whether the process answers")
async def live() -> Health:  # on the loop: a full thread pool is not death
    return Health()


@router.get("/readyz", summary="Whether the service can do its work, and what it lacks")
async def ready(request: Request, settings: deps.Config, database: deps.All, store: deps.Files) -> Ready:
    found = await _look(readiness.looks(settings, database, store), request.app.state.probes)
    missing = [one for one in found if one.state == "missing"]
    if missing:
        told = [{"code": one.name, "detail": one.detail} for one in found if one.state != "ok"]
        raise errors.Unavailable(f"missing: {', '.join(one.name for one in missing)}", errors=told)
    status: Literal["ok", "degraded"] = "ok" if all(one.state == "ok" for one in found) else "degraded"
    return Ready(status=status, checks=[Check.model_validate(one) for one in found])


async def _look(looks: dict[readiness.Name, readiness.Look], room: Probes) -> list[readiness.Finding]:
    """All looks side by side; silence is an answer as well."""
    found = {name: readiness.silent(name, PROBE_SECONDS) for name in looks}
    faults: list[Exception] = []

    async def look(name: readiness.Name) -> None:
        try:
            found[name] = await anyio.to_thread.run_sync(
                looks[name], abandon_on_cancel=True, limiter=room[name]
            )
        except Exception as exc:  # told below as itself rather than in a group
            faults.append(exc)

    with anyio.move_on_after(PROBE_SECONDS):
        async with anyio.create_task_group() as group:
            for name in looks:
                group.start_soon(look, name)
    if faults:
        raise faults[0]
    return list(found.values())


@router.get("/version", summary="What is running")
async def version() -> Version:
    return Version(name="c2s", version=importlib.metadata.version("c2s"), python=platform.python_version())
