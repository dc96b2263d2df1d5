"""From what a user calls a model to what serves it, without a question to the database for every prediction.

Published models never change; that one was deleted, or that an alias moved, is noticed at once by the process that did
it and within a second by the others. A request keeps the version that it found, so none is dropped.
"""

import asyncio
import time
from dataclasses import dataclass

import anyio.from_thread
import anyio.to_thread
from fastapi import Request
from starlette.types import Scope

from app.core import errors, models, ownership
from app.core.callers import Caller
from app.core.db import Database
from app.inference import Inference, Loaded

FRESH_SECONDS = 1.0  # for so long a deleted model still answers, and an alias leads where it did
MOST = 1000  # names remembered
Name = tuple[str, str]  # a project, and what a user says: the same name is another model in another project


@dataclass(frozen=True)
class Found:
    """A model's row, as far as predictions need it."""

    id: str
    name: str
    version: int
    folder: str
    at: float  # when it was looked up


class Lookup:
    """The rows of models that were asked lately; lives on the event loop."""

    def __init__(self, database: Database, inference: Inference) -> None:
        self._database, self._inference = database, inference
        self._found: dict[Name, Found] = {}
        self._asked: dict[Name, asyncio.Task[Found]] = {}

    async def model(self, caller: Caller, name: str) -> tuple[Found, Loaded]:
        """The version that a user means, loaded; one that is not there, or not the caller's, is `NotFound`."""
        found = self._found.get((caller.project_id, name))
        if found is None or time.monotonic() - found.at > FRESH_SECONDS:
            found = await self._row(caller, name)
        if (loaded := self._inference.loaded(found.folder)) is not None:
            return found, loaded
        try:
            return found, await self._inference.model(found.folder)
        except errors.Unavailable:  # it may have been deleted, or its alias moved, since it was found
            again = await self._row(caller, name)
            if again.id == found.id:
                raise
            return again, await self._inference.model(again.folder)

    def forget(self, project_id: str) -> None:
        """Ask anew for the models of a project, also on behalf of those whose question is under way."""
        for known in (self._found, self._asked):
            for ours in [ours for ours in known if ours[0] == project_id]:
                del known[ours]

    async def _row(self, caller: Caller, name: str) -> Found:
        """Read the row, once for all of the project who ask meanwhile."""
        ours = caller.project_id, name
        task = self._asked.get(ours)
        if task is None:
            task = self._asked[ours] = asyncio.create_task(self._read(caller, name))
            task.add_done_callback(lambda done: self._ended(ours, done))
        return await asyncio.shield(task)  # one who leaves must not stop it for the others

    def _ended(self, ours: Name, done: "asyncio.Task[Found]") -> None:
        if self._asked.get(ours) is done:
            del self._asked[ours]
        if not done.cancelled():
            done.exception()  # all who asked may have left; nobody else is to be told

    async def _read(self, caller: Caller, name: str) -> Found:
        ours = caller.project_id, name
        self._found.pop(ours, None)
        found = await anyio.to_thread.run_sync(self._select, caller, name)
        if len(self._found) >= MOST:
            self._found.clear()
        if self._asked.get(ours) is asyncio.current_task():  # else it may be older than what made us forget
            self._found[ours] = found
        return found

    def _select(self, caller: Caller, name: str) -> Found:
        with ownership.of(self._database, caller).read() as tx:
            row = models.resolve(tx, name)
            return Found(row.id, row.name, row.version, row.folder, time.monotonic())


async def model(scope: Scope, name: str) -> tuple[Found, Loaded]:
    """The version that the sender of a request means, loaded."""
    lookup: Lookup = scope["app"].state.lookup
    return await lookup.model(scope["state"]["caller"], name)


def forget(request: Request) -> None:
    """An alias of the caller's has moved or a model is gone: called by handlers, which run in threads."""
    lookup: Lookup = request.app.state.lookup
    anyio.from_thread.run_sync(lookup.forget, request.state.caller.project_id)
