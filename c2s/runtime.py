"""A published model without torch: its graph in ONNX Runtime, its card for everything else."""

from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import onnxruntime

from c2s import cards, data, errors, folders
from c2s.interface import Interface

SWEEP = 1000  # rows at a time
OVERHEAD = 2**20  # bytes of a model beside its file, about
Probabilities = npt.NDArray[np.float64]


class Session:
    """A graph that `c2s.exporting.export` wrote; any number of threads may ask it at once."""

    def __init__(self, graph: bytes | str, *, threads: int) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
        options.enable_cpu_mem_arena = False  # it keeps the largest batch's memory for ever, for every model
        options.log_severity_level = 3
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # the cores are shared
        try:
            self._session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
        except Exception as exc:  # the runtime's own classes share no other parent
            raise errors.InvalidModel(f"the graph cannot be loaded: {type(exc).__name__}") from exc

    def logits(self, rows: data.Inputs) -> npt.NDArray[np.float32]:
        """The raw scores (n, c) of rows that fit the graph."""
        (found,) = self._session.run(["logits"], feed(rows))
        return found  # type: ignore[no-any-return]

    def probabilities(self, rows: data.Inputs) -> Probabilities:
        """P(clean class | row), shape (n, c), in float64 so that rows sum to one."""
        parts = [self.logits(part) for part in _parts(rows)]
        return softmax(np.concatenate(parts)) if parts else np.zeros((0, self.classes))

    @property
    def classes(self) -> int:
        """How many there are."""
        return int(self._session.get_outputs()[0].shape[1])


class Runtime:
    """A model folder ready to answer."""

    def __init__(self, session: Session, card: dict[str, Any], *, size: int) -> None:
        self.interface = Interface(card)
        self.session = session
        self.bytes = size  # in memory, about

    @classmethod
    def load(cls, folder: Path, *, threads: int) -> Self:
        """Read a model folder; an incomplete or altered one is `InvalidModel`, one without a graph `NotExported`."""
        card = cards.load(folder)
        known = card.get("graph")
        if known is None:
            raise errors.NotExported(f"{folder.name}: was published without a graph; `c2s export` makes one")
        path = folder / cards.GRAPH
        if not path.is_file() or folders.digest(path) != known["sha256"]:
            raise errors.InvalidModel(
                f"{folder.name}: the graph is missing or is not what the card describes"
            )
        size = path.stat().st_size + (folder / "card.json").stat().st_size + OVERHEAD
        return cls(Session(path.read_bytes(), threads=threads), card, size=size)


def feed(rows: data.Inputs) -> dict[str, npt.NDArray[Any]]:
    """Rows by the names of the graph's inputs."""
    if isinstance(rows, data.Bags):
        return {"indices": rows.indices, "offsets": rows.indptr[:-1], "weights": rows.weights}
    if rows.dtype == np.uint8:
        return {"pixels": rows if rows.ndim == 4 else rows[..., None]}
    return {"vectors": rows}


def softmax(logits: npt.NDArray[np.float32]) -> Probabilities:
    """Rows of scores as rows of probabilities."""
    wide = logits.astype(np.float64)
    wide -= wide.max(axis=1, keepdims=True)
    np.exp(wide, out=wide)
    wide /= wide.sum(axis=1, keepdims=True)
    return wide


def _parts(rows: data.Inputs) -> list[data.Inputs]:
    count = len(rows)
    if 0 < count <= SWEEP:
        return [rows]
    return [part(rows, start, start + SWEEP) for start in range(0, count, SWEEP)]


def part(rows: data.Inputs, start: int, stop: int) -> data.Inputs:
    """Some rows that follow each other."""
    if isinstance(rows, data.Bags):
        return rows.take(np.arange(start, min(stop, len(rows))))
    return rows[start:stop]


def joined(parts: list[data.Inputs]) -> data.Inputs:
    """Rows of several questions as one batch."""
    if len(parts) == 1:
        return parts[0]
    arrays = [found for found in parts if isinstance(found, np.ndarray)]
    if arrays:
        return np.concatenate(arrays)
    bags = [found for found in parts if isinstance(found, data.Bags)]
    starts = np.cumsum([0] + [bag.indptr[-1] for bag in bags])
    indptr = np.concatenate(
        [[0]] + [bag.indptr[1:] + start for bag, start in zip(bags, starts, strict=False)]
    )
    indices = np.concatenate([bag.indices for bag in bags])
    weights = np.concatenate([bag.weights for bag in bags])
    return data.Bags(indptr.astype(np.int64), indices, weights, bags[0].width)
