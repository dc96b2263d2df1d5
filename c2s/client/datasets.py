"""Datasets: made from files, frames and arrays; immutable afterwards."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Literal, Self, TypedDict, Unpack

from c2s.client import markup, problems, sources
from c2s.client.bound import Bound, M, listing, operation
from c2s.client.calls import Call
from c2s.client.records import Record, id_of

POLL_SECONDS = 0.5


class Reading(TypedDict, total=False):
    """How a file is to be read; what is not said is recognised."""

    label: str  # the column of the labels
    text: str  # the column of the texts
    id: str  # a column that names the rows
    gold: str  # a column of true labels, empty where not known
    drop: Sequence[str]
    kind: Literal["image", "text", "tabular", "vectors"]
    image_size: int
    format: str


class Dataset(Record[M]):
    """Rows with labels."""

    name: str
    state: Literal["validating", "ready", "refused"]
    kind: str | None
    rows: int | None
    classes: list[str] | None
    bytes: int
    source_sha256: str
    sha256: str | None
    options: dict[str, Any]
    parent_id: str | None  # of a dataset that a review made
    job_id: str | None

    def _repr_html_(self) -> str:
        told = {name: self.raw.get(name) for name in ("name", "state", "kind", "rows", "classes")}
        return markup.facts(self.id, told)

    async def _report(self) -> dict[str, Any]:
        found: dict[str, Any] = await self._service.json(Call.get(f"/datasets/{self.id}/report"))
        return found

    @operation
    async def report(self) -> dict[str, Any]:
        """What was found in the file: counts, duplicates, refused rows with their lines."""
        return await self._report()

    @operation
    async def delete(self, *, force: bool = False) -> None:
        """Delete it; jobs that have not ended keep it (`Conflict`), and so do decisions, unless by force."""
        await self._service.ask(_deletion(self.id, force=force))

    async def _settled(self) -> Self:
        while self.state == "validating":
            await self._service.wire.pause(POLL_SECONDS)
            self.raw = await self._service.json(Call.get(f"/datasets/{self.id}"))
        if self.state == "refused":
            raise problems.DatasetRefused(self.id, (await self._report())["reasons"])
        return self

    @operation
    async def wait(self) -> "Dataset[M]":
        """Wait until it is read; one that cannot be used is `DatasetRefused`."""
        return await self._settled()


class Datasets(Bound[M]):
    """`client.datasets`."""

    @operation
    async def create(
        self,
        source: sources.Source,
        labels: sources.Labels | None = None,
        *,
        name: str | None = None,
        wait: bool = True,
        **reading: Unpack[Reading],
    ) -> Dataset[M]:
        """A dataset from a file's path, its bytes, a data frame, columns, rows, or arrays (`x, y` or `(x, y)`).

        The other options say how the file is to be read, as those of `POST /datasets` do; a large one is read by a
        worker, which is waited for unless `wait` is false.
        """
        found = sources.read(source, labels)
        params: Mapping[str, object] = {"name": name or found.name, **reading}
        call = Call.upload("/datasets", found.body, kind=found.kind, params=params)
        made: Dataset[M] = Dataset(self._service, await self._service.json(call))
        return await made._settled() if wait else made

    @operation
    async def get(self, dataset: str | Dataset[M]) -> Dataset[M]:
        """A dataset by its id."""
        return Dataset(self._service, await self._service.json(Call.get(f"/datasets/{id_of(dataset)}")))

    @listing
    async def list(self, limit: int | None = None) -> AsyncIterator[Dataset[M]]:
        """All datasets, newest first."""
        async for raw in self._service.pages(Call.get("/datasets"), limit):
            yield Dataset(self._service, raw)

    @operation
    async def delete(self, dataset: str | Dataset[M], *, force: bool = False) -> None:
        """Delete one by its id; by force also if decisions on its labels were made and no dataset of them."""
        await self._service.ask(_deletion(id_of(dataset), force=force))


def _deletion(dataset_id: str, *, force: bool) -> Call:
    return Call("DELETE", f"/datasets/{dataset_id}", params=(("force", "true"),) if force else ())
