"""`Client` and `AsyncClient`: everything that the service can do, from Python."""

import importlib.metadata
import types
from collections.abc import Sequence
from typing import Any, Self, Unpack

from c2s.client import address, predictions, wires
from c2s.client.answers import Predicted
from c2s.client.bound import Awaiting, Blocking, Bound, M, operation
from c2s.client.calls import Call
from c2s.client.datasets import Datasets
from c2s.client.jobs import Jobs
from c2s.client.keys import Keys
from c2s.client.models import Models
from c2s.client.predictions import Predictions
from c2s.client.records import Record, id_of
from c2s.client.service import Patience, Service
from c2s.client.workers import Workers

TIMEOUT = 120.0  # seconds without a byte of an answer; files are read while the service is asked


class Groups(Bound[M]):
    """What both clients offer."""

    def __init__(self, service: Service, url: str) -> None:
        super().__init__(service)
        self.url = url
        self.datasets: Datasets[M] = Datasets(service)
        self.jobs: Jobs[M] = Jobs(service)
        self.models: Models[M] = Models(service)
        self.predictions: Predictions[M] = Predictions(service)
        self.keys: Keys[M] = Keys(service)
        self.workers: Workers[M] = Workers(service)

    @operation
    async def predict(
        self,
        model: str | Record[M],
        inputs: Any,
        *,
        labels: Sequence[Any] | None = None,
        **wish: Unpack[predictions.Wish],
    ) -> Predicted:
        """Classes and probabilities of rows: mappings, lists, texts, a frame, an array, or one picture's bytes.

        `model` is an id, a name, `name@3` or `name@alias`. With `labels`, one a row, the answer judges them.
        """
        return await predictions.predict(self._service, id_of(model), inputs, labels, wish)

    @operation
    async def methods(self) -> Any:
        """The methods, their defaults and their settings' schema."""
        return await self._service.json(Call.get("/methods"))

    @operation
    async def nets(self) -> Any:
        """The nets, their defaults and their settings' schema."""
        return await self._service.json(Call.get("/nets"))

    @operation
    async def version(self) -> dict[str, str]:
        """What runs there."""
        found: dict[str, str] = await self._service.json(Call.get("/version"))
        return found

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.url}>"


def _headers(found: address.Address, project: str | None) -> dict[str, str]:
    headers = {"User-Agent": f"c2s/{importlib.metadata.version('c2s')}"}
    if found.token is not None:
        headers["Authorization"] = f"Bearer {found.token}"
    if project is not None:
        headers["C2S-Project"] = project
    return headers


class Client(Groups[Blocking]):
    """A service, asked by whoever can wait.

    The address and the key are those given, else C2S_URL and C2S_TOKEN, else those of `c2s up` on this machine, whose
    folder is C2S_HOME or ~/.c2s. A call
    is sent again up to `retries` times, with the same key, while the service is busy or away; `project` is for admins.
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        timeout: float = TIMEOUT,
        retries: int = Patience.retries,
        project: str | None = None,
    ) -> None:
        found = address.find(url, token)
        wire = wires.BlockingWire.to(found.url, _headers(found, project), timeout)
        super().__init__(Service(wire, True, Patience(retries), found.advice), found.url)

    def close(self) -> None:
        """Close the connections."""
        wires.finished(self._service.wire.close())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: types.TracebackType | None
    ) -> None:
        self.close()


class AsyncClient(Groups[Awaiting]):
    """The same service, awaited: `await client.jobs.get(...)`, `async for job in client.jobs.list()`."""

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        timeout: float = TIMEOUT,
        retries: int = Patience.retries,
        project: str | None = None,
    ) -> None:
        found = address.find(url, token)
        wire = wires.AwaitingWire.to(found.url, _headers(found, project), timeout)
        super().__init__(Service(wire, False, Patience(retries), found.advice), found.url)

    async def close(self) -> None:
        """Close the connections."""
        await self._service.wire.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: types.TracebackType | None
    ) -> None:
        await self.close()
