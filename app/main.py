"""The HTTP application: routers, problems, lifespan; nothing else."""

import contextlib
import importlib.metadata
from collections.abc import AsyncIterator

import anyio
import anyio.to_thread
import structlog
from fastapi import FastAPI
from starlette.middleware.errors import ServerErrorMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from app import bodiless, doctor, inference, limits, watching
from app.api import (
    admission,
    aliases,
    audit,
    bulk,
    catalog,
    corrections,
    datasets,
    decisions,
    direct,
    drifts,
    events,
    exports,
    golds,
    guard,
    health,
    issues,
    jobs,
    keys,
    lookup,
    metrics,
    models,
    oip,
    pages,
    predictions,
    problems,
    projects,
    reference,
    reports,
    results,
    sessions,
    transitions,
    workers,
)
from app.core import access, ballast, census, db, errors, keyring, ledger, ratelimits, relay, stores
from app.core import datasets as records
from app.core import metrics as figures
from app.core import settings as configuration
from app.core.settings import Settings
from app.ui import dashboard, entrance

log = structlog.get_logger("c2s")
ENCODERS = 2  # large questions that are read at once
MODELS = (models, aliases, exports)
RESULTS = (transitions, issues, reports, golds, drifts, results)
WATCHED = (health, metrics, workers)
ACCESS = (keys, projects, audit, sessions)
REVIEW = (decisions, corrections)
READERS = 2  # small files that are read at once, each in a process of its own


class Service(FastAPI):
    """FastAPI inside our own layers, which predictions pass without it."""

    def build_middleware_stack(self) -> ASGIApp:
        stack = super().build_middleware_stack()
        if not isinstance(stack, ServerErrorMiddleware):  # pragma: no cover - another framework
            raise TypeError("the framework's outermost layer is not the one that ours replaces")
        chosen: Settings = self.state.settings
        inner = bodiless.Bodiless(direct.Direct(stack.app))  # `Guard` answers what nobody foresaw
        guarded = guard.Guard(
            inner,
            admission=self.state.admission,
            host=chosen.host,
            allowed=chosen.allowed_hosts,
            greet=entrance.greet,
        )
        limited = limits.Limits(guarded, upload_bytes=chosen.max_upload_bytes)
        return watching.Watched(limited, self.state.tell)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if direct.ours(scope) and self.middleware_stack is not None:
            scope["app"] = self
            await self.middleware_stack(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)


def create_app(settings: Settings | None = None) -> FastAPI:
    """The service as an ASGI application."""
    chosen = settings or configuration.load()
    app = Service(
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
    app.state.admission = admission.Admission(access.token(chosen))
    app.state.tell = watching.tell
    app.openapi = lambda: reference.document(app)  # type: ignore[method-assign]
    problems.install(app)
    # the first is asked most: a route is found by trying one after the other
    asked = (
        predictions,
        oip,
        pages,
        datasets,
        jobs,
        events,
        *RESULTS,
        *MODELS,
        *REVIEW,
        bulk,
        catalog,
        *WATCHED,
        *ACCESS,
    )
    for resource in (*asked, *dashboard.PAGES):
        app.include_router(resource.router)
    return app


@contextlib.asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    settings: Settings = app.state.settings
    app.state.database = db.Database(settings.database)
    app.state.datasets = records.Ready(app.state.database)
    app.state.census = census.Census(app.state.database)
    app.state.store = stores.open_store(settings)
    app.state.ballast = ballast.Ballast(settings, app.state.database)
    app.state.ballast.lay()
    app.state.store.sweep()  # uploads whose process died
    try:
        await anyio.to_thread.run_sync(app.state.store.prepare)
    except errors.ServiceError as exc:  # jobs can be looked at without it, and /readyz says what is missing
        log.warning("store_away", error=str(exc))
    app.state.inference = inference.Inference(
        app.state.store, threads=settings.threads, observe=figures.batch
    )
    app.state.lookup = lookup.Lookup(app.state.database, app.state.inference)
    app.state.encoders = anyio.CapacityLimiter(ENCODERS)
    app.state.probes = health.probes()
    app.state.readers = anyio.CapacityLimiter(READERS)
    app.state.pollers = anyio.CapacityLimiter(events.POLLERS)
    app.state.keyring = keyring.Keyring(app.state.database, app.state.admission.bootstrap, settings.limits)
    app.state.buckets = ratelimits.buckets(settings.broker_url)
    app.state.ledger = ledger.Ledger(app.state.database)
    threads: list[relay.Relay | doctor.Janitor | ledger.Ledger] = [
        doctor.Janitor(app.state.database, app.state.store),
        app.state.ledger,
    ]
    if not settings.embedded:  # else only the worker itself can ring
        threads.append(_relay(app.state.database, settings))
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for thread in threads:
            thread.stop()
        app.state.inference.close()
        await app.state.buckets.close()
        app.state.database.close()
        app.state.store.close()


def _relay(database: db.Database, settings: Settings) -> relay.Relay:
    ring = relay.ringer(settings.broker_url)
    return relay.Relay(database, ring, seconds=settings.relay_seconds, most=2 * settings.slots)
