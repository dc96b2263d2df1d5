"""What happens to a job, as pages or as a stream (server-sent events); one sequence without gaps."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any, Protocol

import anyio
import anyio.to_thread
from fastapi import APIRouter, Header, Query, Request, Response
from sqlalchemy.exc import SQLAlchemyError
from starlette.responses import StreamingResponse

from app.api import acceptance, admission, deps, problems, strict
from app.core import errors, events, jobs
from app.core.db import Database

router = APIRouter(prefix="/jobs", route_class=strict.Strict, tags=["jobs"], responses=problems.documented())
STREAM = "text/event-stream"
FORMS = {kind: kind for kind in (strict.JSON, STREAM)}
POLL_SECONDS, HEARTBEAT_SECONDS = 0.5, 15.0
POLLERS = 4  # threads that look for all streams together, so that handlers keep theirs
BATCH = 500
LARGEST = 2**31 - 1


class EventOut(deps.Out):
    """One thing that happened; numbers start at 1 and leave none out."""

    number: int
    type: events.Type
    at: deps.Time
    data: dict[str, Any]


class EventPage(deps.Out):
    data: list[EventOut]
    has_more: bool
    next_cursor: str | None  # the `after` of the next page


@dataclass(frozen=True)
class News:
    """What a look at a job found."""

    events: list[EventOut]
    over: bool  # nothing will follow


def _look(database: Database, job_id: str, after: int, limit: int) -> News:
    with database.read() as tx:
        job = jobs.find(tx, job_id)
        found = [
            EventOut.model_validate(event) for event in events.page(tx, job_id, after=after, limit=limit)
        ]
        last = found[-1].number if found else after
        return News(found, jobs.ended(job) and last >= job.last_event)


@router.get(
    "/{job_id}/events",
    summary="What happened to a job",
    response_model=EventPage,
    responses={
        200: {
            "description": "A page, or with `Accept: text/event-stream` a stream that ends with the job",
            "content": {STREAM: {"schema": {"type": "string"}}},
        },
        204: {"description": "The stream is over and the client has all of it"},
    },
)
async def index(
    request: Request,
    job_id: deps.JobId,
    database: deps.Db,
    *,
    limit: Annotated[int, Query(ge=1, le=BATCH)] = 100,
    after: Annotated[int, Query(ge=0, le=LARGEST, description="the last number that is known")] = 0,
    last: Annotated[int | None, Header(alias="Last-Event-ID", ge=0, le=LARGEST)] = None,
) -> Any:
    streams = acceptance.best(request.headers.get("accept", ""), FORMS) == STREAM
    after = after if last is None else last  # a browser that comes back repeats the address
    limiter: anyio.CapacityLimiter = request.app.state.pollers

    async def listening() -> bool:
        door: admission.Admission = request.app.state.admission
        return not getattr(request.app.state, "leaving", False) and await door.still(request)

    async def look(after: int) -> News:
        size = BATCH if streams else limit + 1
        return await anyio.to_thread.run_sync(_look, database, job_id, after, size, limiter=limiter)

    news = await look(after)
    if not streams:
        shown, more = news.events[:limit], len(news.events) > limit
        return EventPage(data=shown, has_more=more, next_cursor=str(shown[-1].number) if more else None)
    if news.over and not news.events:
        return Response(status_code=204)  # tells a browser not to come back
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(_stream(look, news, after, listening), media_type=STREAM, headers=headers)


class Look(Protocol):
    async def __call__(self, after: int) -> News: ...


async def _stream(
    look: Look, news: News, after: int, listening: Callable[[], Awaitable[bool]]
) -> AsyncIterator[bytes]:
    """Events as they come; a comment now and then keeps the connection open.

    A service that stops does not wait for streams, which resume elsewhere; a key that ends, ends its streams.
    """
    yield b"retry: 2000\n\n"
    silent = 0.0
    while True:
        if news.events:
            yield b"".join(_frame(event) for event in news.events)
            after, silent = news.events[-1].number, 0.0
        if news.over:
            return
        if len(news.events) < BATCH:
            await anyio.sleep(POLL_SECONDS)
            silent += POLL_SECONDS
        if silent >= HEARTBEAT_SECONDS:
            yield b": still here\n\n"
            silent = 0.0
        if not await listening():
            return
        try:
            news = await look(after)
        except errors.NotFound:  # the job was deleted meanwhile
            return
        except SQLAlchemyError:  # a stream outlives a restart of the database
            news = News([], over=False)


def _frame(event: EventOut) -> bytes:
    body = event.model_dump_json()  # one line
    return f"id: {event.number}\nevent: {event.type}\ndata: {body}\n\n".encode()
