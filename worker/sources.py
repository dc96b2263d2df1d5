"""Where rows to predict come from: a dataset with its labels, or a file that intake encoded; some at a time."""

import abc
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import orjson

from app.core import incoming
from c2s import data, errors, slices
from c2s.interface import Interface

NOTES = "rows.jsonl"  # app.intake.unlabelled's
Place = Literal["id", "line", "entry"]


@dataclass(frozen=True)
class Piece:
    """Some rows: inputs, where each stands, the class that its label names (-1: none), and what is wrong with it."""

    inputs: data.Inputs
    places: list[Any]
    given: npt.NDArray[np.int64] | None
    labels: list[str] | None
    faults: dict[int, str]


class Source(abc.ABC):
    """Rows by number; a later piece is never asked for before an earlier one."""

    place: Place | None
    labelled: bool
    corrected = False  # whether some of the labels were put right
    _rows: slices.Reader

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def row_bytes(self) -> int:
        """What a row takes."""
        return self._rows.row_bytes

    @abc.abstractmethod
    def read(self, start: int, stop: int) -> Piece:
        """These rows."""


class Forward:
    """Items by number, of which only the next are ever at hand."""

    def __init__(self, items: Iterator[Any]) -> None:
        self._items, self._at = items, 0

    def read(self, start: int, stop: int) -> list[Any]:
        """These items; none before them is asked for again."""
        found = list(islice(self._items, start - self._at, stop - self._at))
        self._at = stop
        return found


class Labelled(Source):
    """A dataset; its labels are judged by the classes that they mean to the model."""

    place: Place | None = "id"
    labelled = True

    def __init__(self, folder: Path, model: Interface) -> None:
        try:
            self._rows = slices.Reader(folder)
            self._y = slices.Array(folder / "y.npy")
        except (OSError, ValueError, KeyError) as exc:
            if isinstance(exc, OSError) and exc.errno in (*incoming.PASSING, *incoming.FULL):
                raise  # not the dataset's fault
            raise errors.InvalidDataset(f"the dataset cannot be opened: {type(exc).__name__}") from exc
        check(self._rows.meta, model)
        self.corrected = "amended.npy" in self._rows.meta["sha256"]
        self._names = [str(label) for label in self._rows.meta["labels"]]
        self._classes = np.array([model.places.get(name, -1) for name in self._names], dtype=np.int64)
        self._ids = Forward(_ids(folder / "rows.arrow"))

    def read(self, start: int, stop: int) -> Piece:
        """These rows."""
        y = self._y.read(start, stop)
        labels = [self._names[number] for number in y.tolist()]
        ids = self._ids.read(start, stop)
        return Piece(self._rows.read(start, stop), ids, self._classes[y], labels, {})


class Uploaded(Source):
    """A file of rows, as intake encoded it."""

    labelled = False

    def __init__(self, folder: Path) -> None:
        self._rows = slices.Reader(folder)
        self.place: Place | None = self._rows.meta["places"]
        self._notes = Forward(_notes(folder / NOTES))

    def read(self, start: int, stop: int) -> Piece:
        """These rows."""
        notes = self._notes.read(start, stop)
        faults = {row: why for row, (_, why) in enumerate(notes) if why is not None}
        return Piece(self._rows.read(start, stop), [place for place, _ in notes], None, None, faults)


def check(meta: dict[str, Any], model: Interface) -> None:
    """Refuse a dataset whose rows mean something else than the model's: columns and words are learnt from each file."""
    ours, theirs = meta["encoding"] or {}, model.card["encoding"] or {}
    same = meta["kind"] == model.shape.kind
    if meta["kind"] in ("tabular", "text"):
        same = same and ours == theirs
    elif ours.get("columns") and theirs.get("columns"):
        same = same and ours["columns"] == theirs["columns"]
    if not same:
        raise errors.InvalidDataset(
            "the dataset's columns were read otherwise than those of the model's own dataset: "
            "send the file itself to POST /predictions?model=..."
        )


def _ids(path: Path) -> Iterator[str]:
    import pyarrow as pa

    with pa.OSFile(str(path), "rb") as opened:
        file = pa.ipc.open_file(opened)
        for number in range(file.num_record_batches):
            yield from file.get_batch(number).column("id").to_pylist()


def _notes(path: Path) -> Iterator[Any]:
    with path.open("rb") as file:
        yield from map(orjson.loads, file)
