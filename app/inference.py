"""The only door from the service to a model runtime: models are loaded once, kept while they are used, and asked."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from app import batching
from app.core.errors import Conflict, Unavailable
from app.core.storage import Store
from c2s import data, errors, runtime

MEMORY_BYTES = 512 * 2**20  # of loaded models, about; a larger one is kept alone
LOADING = 2  # models read at once


class Loaded:
    """A model in memory and the questions that wait for it."""

    def __init__(self, model: runtime.Runtime) -> None:
        self.interface = model.interface
        self.bytes = model.bytes
        self.line = batching.Line(model.session)


class Inference:
    """Loaded models, by the key of their folder, the least recently used one going first; lives on the event loop."""

    def __init__(
        self,
        store: Store,
        *,
        threads: int,
        memory: int = MEMORY_BYTES,
        observe: Callable[[int], None] = lambda rows: None,
    ) -> None:
        self._store, self._threads, self._memory = store, threads, memory
        self._loaded: OrderedDict[str, Loaded] = OrderedDict()
        self._loading: dict[str, asyncio.Future[Loaded]] = {}
        self._readers = ThreadPoolExecutor(LOADING, thread_name_prefix="model")
        self._batcher = batching.Batcher(observe=observe)

    async def model(self, key: str) -> Loaded:
        """The model of a folder; many who ask at once wait for one loading."""
        if (found := self.loaded(key)) is not None:
            return found
        promise = self._loading.get(key)
        if promise is None:
            loop = asyncio.get_running_loop()
            promise = self._loading[key] = loop.run_in_executor(self._readers, self._read, key)
            promise.add_done_callback(lambda done: self._keep(key, done))
        return await asyncio.shield(promise)  # one who leaves must not stop it for the others

    def loaded(self, key: str) -> Loaded | None:
        """The model of a folder if it is in memory; it counts as used."""
        if (found := self._loaded.get(key)) is not None:
            self._loaded.move_to_end(key)
        return found

    def _keep(self, key: str, done: "asyncio.Future[Loaded]") -> None:
        del self._loading[key]
        if done.cancelled() or done.exception() is not None:  # the next one who asks tries again
            return
        self._loaded[key] = done.result()
        while len(self._loaded) > 1 and sum(model.bytes for model in self._loaded.values()) > self._memory:
            self._loaded.popitem(last=False)

    def _read(self, key: str) -> Loaded:
        try:
            return Loaded(runtime.Runtime.load(self._store.open_model(key), threads=self._threads))
        except errors.NotExported as exc:
            detail = (
                "the model was published before models carried a graph: `c2s export` on its folder adds it"
            )
            raise Conflict(detail, code="model_not_exported") from exc
        except errors.InvalidModel as exc:
            detail = "the stored model is damaged or incomplete: `c2s doctor --deep` says more"
            raise Unavailable(detail, code="model_damaged", retry_after=300) from exc

    def probabilities(
        self, model: Loaded, rows: data.Inputs, gone: Callable[[], bool] = batching.present
    ) -> Coroutine[Any, Any, runtime.Probabilities]:
        """P(clean class | row) of rows that fit the model, once it is their turn."""
        return self._batcher.ask(model.line, rows, gone)

    def close(self) -> None:
        """End the threads."""
        self._batcher.close()
        self._readers.shutdown(wait=False, cancel_futures=True)
