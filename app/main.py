"""The HTTP application: routers, problems, lifespan; nothing else."""

import contextlib
import importlib.metadata
from collections.abc import AsyncIterator

import anyio
from fastapi import FastAPI

from app import doctor, inference, limits
from app.api import (
    catalog,
    datasets,
    events,
    guard,
    health,
    jobs,
    models,
    pages,
    predictions,
    problems,
    reference,
    results,
)
from app.core import access, db, relay, storage
from app.core import settings as configuration
from app.core.settings import Settings

READERS = 2  # small files that are read at once, each in a process of its own


def create_app(settings: Settings | None = None) -> FastAPI:
    """The service as an ASGI application."""
    chosen = settings or configuration.load()
    app = FastAPI(
        title="c2s",
        version=importlib.metadata.version("c2s"),
        description=reference.ABOUT,
        lifespan=_lifespan,
        docs_url=None,  # both fetch scripts from elsewhere; ours is /reference
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=reference.operation_id,
    )
    app.state.settings = chosen
    app.state.token = access.token(chosen)
    app.openapi = lambda: reference.document(app)  # type: ignore[method-assign]
    problems.install(app)
    for resource in (pages, datasets, jobs, events, results, models, predictions, catalog, health):
        app.include_router(resource.router)
    app.add_middleware(guard.Guard, token=app.state.token, host=chosen.host)
    app.add_middleware(limits.Limits, upload_bytes=chosen.max_upload_bytes)  # outermost
    return app


@contextlib.asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    settings: Settings = app.state.settings
    app.state.database = db.Database(settings.database)
    app.state.store = storage.Store(settings.store, min_free=settings.min_free_bytes)
    app.state.store.sweep()  # uploads whose process died
    app.state.inference = inference.Inference(app.state.store, threads=settings.threads)
    app.state.readers = anyio.CapacityLimiter(READERS)
    app.state.pollers = anyio.CapacityLimiter(events.POLLERS)
    threads: list[relay.Relay | doctor.Janitor] = [doctor.Janitor(app.state.database, app.state.store)]
    if not settings.embedded:  # else only the worker itself can ring
        threads.append(_relay(app.state.database, settings))
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for thread in threads:
            thread.stop()
        app.state.database.close()


def _relay(database: db.Database, settings: Settings) -> relay.Relay:
    ring = relay.ringer(settings.broker_url)
    return relay.Relay(database, ring, seconds=settings.relay_seconds, most=2 * settings.slots)
