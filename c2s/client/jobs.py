"""Jobs: made, waited for, watched, cancelled, tried again, and what they found."""

import time
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Literal, Self, TypedDict, Unpack

import numpy as np
import numpy.typing as npt

from c2s.client import frames, markup, problems
from c2s.client import progress as bars
from c2s.client.bound import Bound, M, listing, operation
from c2s.client.calls import Call
from c2s.client.records import Record, id_of
from c2s.client.reviews import Reviewed
from c2s.client.transitions import Transition

State = Literal["queued", "running", "cancelling", "succeeded", "failed", "cancelled"]


class Settings(TypedDict, total=False):
    """What a job may be told; the service has a default for everything."""

    name: str | None  # of the model that it publishes
    priority: int | None  # larger first
    method: str | Mapping[str, Any] | None
    net: str | Mapping[str, Any] | None
    stage1: Mapping[str, Any] | None
    stage2: Mapping[str, Any] | None
    transition: (
        str | Mapping[str, Any] | npt.NDArray[np.floating] | None
    )  # an estimator, its settings, or a matrix
    validation: float | None
    merge: Sequence[Sequence[str]] | None  # classes that are one, under the first's name
    seed: int | None


class Followed(Record[M]):
    """Work in the queue: a training, or predictions for many rows."""

    state: State
    phase: str | None
    progress: dict[str, Any] | None
    attempts: int
    error: dict[str, Any] | None
    retry_of: str | None
    started_at: str | None
    finished_at: str | None
    _home = "/jobs"

    async def _refresh(self) -> Self:
        self.raw = await self._service.json(Call.get(f"{self._home}/{self.id}"))
        return self

    async def _wait(self, shown: bool | bars.Report, timeout: float | None, check: bool) -> Self:
        until = None if timeout is None else time.monotonic() + timeout
        with bars.reporting(shown, self.raw.get("name") or self.id) as report:
            async for event in self._service.events(f"/jobs/{self.id}/events", until=until):
                report(event)
        await self._refresh()
        if check and self.state == "failed":
            raise problems.JobFailed(self.id, self.error or {})
        if check and self.state == "cancelled":
            raise problems.JobCancelled(self.id)
        return self

    @listing
    async def events(self, after: int = 0, *, follow: bool = True) -> AsyncIterator[dict[str, Any]]:
        """What happens to it: `{number, type, at, data}`, to its end if `follow`, else as far as it is."""
        path = f"/jobs/{self.id}/events"
        source = self._service.events(path, after=after) if follow else self._past(path, after)
        async for event in source:
            yield event

    async def _past(self, path: str, after: int | str) -> AsyncIterator[dict[str, Any]]:
        more = True
        while more:
            page = await self._service.json(Call.get(path, after=after, limit=500))
            for event in page["data"]:
                yield event
            more, after = page["has_more"], page["next_cursor"] or after

    @operation
    async def cancel(self) -> None:
        """Ask it to stop; it may take a moment (`state` is then cancelling)."""
        await self._service.ask(Call.post(f"/jobs/{self.id}/cancel", keyed=False))
        await self._refresh()

    def _repr_html_(self) -> str:
        told = {name: self.raw.get(name) for name in ("state", "phase", "attempts", "name", "model_id")}
        if self.error:
            told["error"] = f"{self.error['code']}: {self.error['message']}"
        share = (self.raw.get("progress") or {}).get("fraction")
        bar = markup.bar(share, self.state) if share is not None else ""
        return markup.facts(self.id, told) + bar


class Job(Followed[M], Reviewed[M]):
    """A training."""

    task: str
    dataset_id: str | None
    model_id: str | None
    name: str | None
    priority: int
    config: dict[str, Any]

    @operation
    async def refresh(self) -> "Job[M]":
        """Ask the service how it stands now."""
        return await self._refresh()

    @operation
    async def wait(
        self, *, progress: bool | bars.Report = False, timeout: float | None = None, check: bool = True
    ) -> "Job[M]":
        """Wait for the end, with a bar if `progress`; `JobFailed` or `JobCancelled` tell of a bad one if `check`.

        After `timeout` seconds it is `TimedOut`, and the job goes on.
        """
        return await self._wait(progress, timeout, check)

    @operation
    async def retry(self) -> "Job[M]":
        """A new job like this one, which failed or was cancelled."""
        return Job(self._service, await self._service.json(Call.post(f"/jobs/{self.id}/retry")))

    @operation
    async def transition(self) -> Transition:
        """What is known of how the labels came to be wrong; `NotYet` before stage 1 has ended."""
        return Transition(await self._service.json(Call.get(f"/jobs/{self.id}/transition")))

    @operation
    async def report(self) -> dict[str, Any]:
        """What its classifier is worth, each figure with an interval, and whether the matrix can be trusted."""
        found: dict[str, Any] = await self._service.json(Call.get(f"/jobs/{self.id}/report"))
        return found

    @operation
    async def gold(self, rows: int = 50) -> frames.Rows:
        """Rows whose true labels would tell most about the classifier, the first to be looked at first."""
        return frames.Rows((await self._service.json(Call.get(f"/jobs/{self.id}/gold", rows=rows)))["data"])

    @operation
    async def accuracy(self, labels: Mapping[str, str], *, random_gold: bool = False) -> dict[str, Any]:
        """The classifier's accuracy with its interval, by true labels of rows that `gold` named and the dataset's gold.

        `random_gold`: the dataset's gold rows were drawn at random, so that they may count as much.
        """
        body = {"labels": dict(labels)} | ({"random_gold": True} if random_gold else {})
        call = Call.post(f"/jobs/{self.id}/gold", body, keyed=False)
        found: dict[str, Any] = await self._service.json(call)
        return found

    @operation
    async def metrics(self) -> frames.Rows:
        """The metrics of every epoch so far."""
        return frames.Rows((await self._service.json(Call.get(f"/jobs/{self.id}/metrics")))["data"])

    @operation
    async def checkpoints(self) -> frames.Rows:
        """From where it would go on."""
        return frames.Rows((await self._service.json(Call.get(f"/jobs/{self.id}/checkpoints")))["data"])

    @operation
    async def manifest(self) -> dict[str, Any]:
        """All that is needed to run it again."""
        found: dict[str, Any] = await self._service.json(Call.get(f"/jobs/{self.id}/manifest"))
        return found

    @operation
    async def again(self, dataset: str | Record[M], *, name: str | None = None) -> "Job[M]":
        """A new job with the settings of this one, on a dataset that its review made or on any other."""
        chosen = {**self.config, "merge": []}  # what it merged is one class there already
        told = spec(dataset, {**chosen, "name": name or self.name})
        return Job(self._service, await self._service.json(Call.post("/jobs", told)))


class Jobs(Bound[M]):
    """`client.jobs`."""

    @operation
    async def create(self, /, dataset: str | Record[M], **settings: Unpack[Settings]) -> Job[M]:
        """Train on a dataset. Every setting of `POST /jobs` may be given, and none must."""
        return Job(self._service, await self._service.json(Call.post("/jobs", spec(dataset, settings))))

    @operation
    async def forecast(self, /, dataset: str | Record[M], **settings: Unpack[Settings]) -> dict[str, Any]:
        """What such a job would run, and what can be said of it before it does; nothing is made."""
        call = Call.post("/jobs", spec(dataset, settings), keyed=False, params={"dry_run": True})
        found: dict[str, Any] = await self._service.json(call)
        return found

    @operation
    async def get(self, job: str | Job[M]) -> Job[M]:
        """A job by its id."""
        return Job(self._service, await self._service.json(Call.get(f"/jobs/{id_of(job)}")))

    @listing
    async def list(
        self,
        limit: int | None = None,
        *,
        state: State | None = None,
        dataset: str | Record[M] | None = None,
        task: Literal["train", "predict"] = "train",
    ) -> AsyncIterator[Job[M]]:
        """All jobs, newest first."""
        chosen = None if dataset is None else id_of(dataset)
        call = Call.get("/jobs", state=state, dataset_id=chosen, task=task)
        async for raw in self._service.pages(call, limit):
            yield Job(self._service, raw)


def spec(dataset: str | Record[M], settings: Mapping[str, Any]) -> dict[str, Any]:
    """The body of a job; settings that are None are left to the service."""
    chosen = {name: value for name, value in settings.items() if value is not None}
    match chosen.get("transition"):
        case str() as estimator:
            chosen["transition"] = {"estimator": estimator}
        case np.ndarray() as matrix:
            chosen["transition"] = {"matrix": matrix.tolist()}
    return {"dataset_id": id_of(dataset), **chosen}
