"""The service's workers, for admins."""

from collections.abc import AsyncIterator

from c2s.client import markup
from c2s.client.bound import Bound, M, listing
from c2s.client.calls import Call
from c2s.client.records import Record


class Worker(Record[M]):
    """A worker: `idle`, `busy` with its `jobs`, or `silent`."""

    host: str
    process: int
    state: str
    jobs: list[str]
    device: str
    slots: int
    version: str
    seen_at: str

    def _repr_html_(self) -> str:
        return markup.facts(self.id, {name: value for name, value in self.raw.items() if name != "id"})


class Workers(Bound[M]):
    """`client.workers`."""

    @listing
    async def list(self, limit: int | None = None) -> AsyncIterator[Worker[M]]:
        """The workers that are there, of all projects, newest first."""
        async for raw in self._service.pages(Call.get("/workers"), limit):
            yield Worker(self._service, raw)
