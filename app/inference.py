"""The only door from the service to a model runtime: models are loaded once, kept while they are used, and asked."""

import threading
from collections import OrderedDict
from concurrent.futures import Future
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from app.core.errors import Unavailable
from app.core.storage import Store
from c2s import errors, pictures

if TYPE_CHECKING:
    from c2s.predictor import Predictor

MOST = 8  # models in memory
AT_ONCE = 2  # predictions that compute; the others wait


class Inference:
    """Loaded models, by the key of their folder, the least recently used one going first."""

    def __init__(self, store: Store, *, threads: int, most: int = MOST) -> None:
        self._store, self._threads, self._most = store, threads, most
        self._lock = threading.Lock()
        self._loaded: OrderedDict[str, Future[Predictor]] = OrderedDict()
        self._turn = threading.BoundedSemaphore(AT_ONCE)

    def model(self, key: str) -> "Predictor":
        """The model of a folder; many who ask at once wait for one loading."""
        with self._lock:
            found = self._loaded.get(key)
            if mine := found is None:
                found = self._loaded[key] = Future()
                if len(self._loaded) > self._most:
                    self._loaded.popitem(last=False)
            self._loaded.move_to_end(key)
        if mine:
            self._load(key, found)
        return found.result()

    def _load(self, key: str, promise: "Future[Predictor]") -> None:
        try:
            promise.set_result(self._read(key))
        except BaseException as exc:
            with self._lock:  # the next one who asks tries again
                if self._loaded.get(key) is promise:
                    del self._loaded[key]
            promise.set_exception(exc)

    def _read(self, key: str) -> "Predictor":
        import torch

        from c2s.predictor import Predictor

        torch.set_num_threads(self._threads)
        try:
            return Predictor.load(self._store.at(key))
        except errors.InvalidModel as exc:
            detail = "the stored model is damaged or incomplete: `c2s doctor --deep` says more"
            raise Unavailable(detail, code="model_damaged", retry_after=300) from exc

    def probabilities(self, key: str, rows: object) -> npt.NDArray[np.float64]:
        """P(clean class | row) of raw rows; rows that the model cannot read are `InvalidDataset`."""
        model = self.model(key)
        with self._turn:
            return model.probabilities(model.raw(rows))

    def of_picture(self, key: str, blob: bytes) -> npt.NDArray[np.float64]:
        """P(clean class | picture) of a PNG or JPEG, brought to the size of the training pictures."""
        model = self.model(key)
        if model.shape.image is None:
            raise errors.InvalidDataset(f"the model reads {model.shape.kind} rows, not pictures")
        with self._turn:
            pixels = pictures.decode(blob, *model.shape.image)  # (h, w, c)
            return model.probabilities(pixels[None])
