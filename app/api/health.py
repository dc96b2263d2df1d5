"""Probes and the version: the only routes without a token."""

import importlib.metadata
import os
import platform
from typing import Literal

from fastapi import APIRouter
from sqlalchemy import select

from app.api import deps, problems, strict
from app.core import errors
from app.core.tables import Dataset

router = APIRouter(route_class=strict.Strict, tags=["health"], responses=problems.documented())


class Health(deps.Out):
    status: Literal["ok"] = "ok"


class Version(deps.Out):
    name: str
    version: str
    python: str


@router.get("/livez", summary="Whether the process answers")
async def live() -> Health:  # on the loop: a full thread pool is not death
    return Health()


@router.get("/readyz", summary="Whether the database and the store answer")
def ready(database: deps.Db, store: deps.Files) -> Health:
    with database.read() as tx:
        tx.execute(select(Dataset.id).limit(1))
    if not os.access(store.root / "tmp", os.W_OK | os.X_OK):
        raise errors.Unavailable("the store cannot be written")
    return Health()


@router.get("/version", summary="What is running")
async def version() -> Version:
    return Version(name="c2s", version=importlib.metadata.version("c2s"), python=platform.python_version())
