"""A dataset made anew with labels put right: the same rows, of which only the labels are written again.

What changes is a small file of arrays: `rows` and `labels` (the class of each in the new numbering), `reviewed` (those
of them that a person decided), `become` (old class -> new, -1 where none is left), `kept` (new class -> old) and `gold`
(whether what people decided is kept as gold). Inputs are never read: both folders name the same bytes. The new folder
remembers whose each label is (`amended`) and what it was (`given`), so that its jobs neither doubt what people said nor
take what a model put right for labels as they were given, and know the noise of both.
"""

import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from c2s import data, errors, folders

REWRITTEN = ("y.npy", "gold.npy", "amended.npy", "given.npy", "rows.arrow")


@dataclass(frozen=True)
class Changes:
    """Which labels of a dataset are to be others."""

    rows: npt.NDArray[np.int64]  # ascending
    labels: npt.NDArray[np.int64]  # of these rows, in the new numbering
    reviewed: npt.NDArray[np.bool_]  # of these rows
    become: npt.NDArray[np.int64]  # (old classes,)
    kept: npt.NDArray[np.int64]  # (new classes,)
    gold: bool = False

    def save(self, file: IO[bytes]) -> None:
        """Write them down: the same bytes for the same changes."""
        np.savez(
            file,
            allow_pickle=False,
            rows=self.rows,
            labels=self.labels,
            reviewed=self.reviewed,
            become=self.become,
            kept=self.kept,
            gold=np.asarray(self.gold),
        )

    @classmethod
    def load(cls, path: Path) -> "Changes":
        """Read what `save` wrote."""
        with np.load(path, allow_pickle=False) as arrays:
            found: dict[str, Any] = {name: arrays[name] for name in arrays.files}
        return cls(**found | {"gold": bool(found["gold"])})

    def apply(self, parent: Path, target: Path, *, beside: Iterable[str] = ()) -> None:
        """Make the new folder, which appears whole; of files that lie `beside` the dataset's, those that there are."""
        meta = folders.read_json(parent / "meta.json")
        before = np.load(parent / "y.npy", allow_pickle=False)
        y = self.become[before]
        y[self.rows] = self.labels
        if y.min() < 0:
            raise errors.InvalidDataset("a class that is left out still has rows")
        labels = [meta["labels"][place] for place in self.kept]
        with folders.whole(target) as part:
            same = {name: total for name, total in meta["sha256"].items() if name not in REWRITTEN}
            for name in (*same, *(name for name in beside if (parent / name).is_file())):
                _link(parent / name, part / name)
            np.save(part / "y.npy", y, allow_pickle=False)
            if (gold := self._gold(parent / "gold.npy", len(y))) is not None:
                np.save(part / "gold.npy", gold, allow_pickle=False)
            np.save(part / "amended.npy", self._amended(parent / "amended.npy", len(y)), allow_pickle=False)
            if (given := self._given(parent, before)) is not None:
                np.save(part / "given.npy", given, allow_pickle=False)
            _name_rows(parent / "rows.arrow", part / "rows.arrow", [str(label) for label in labels], y)
            new = {name: folders.digest(part / name) for name in REWRITTEN if (part / name).exists()}
            sums = dict(sorted((same | new).items()))
            folders.write_json(part / "meta.json", meta | {"labels": labels, "sha256": sums})

    def _gold(self, before: Path, rows: int) -> data.Labels | None:
        """The true class of rows: as it was known, and as people decided if that is to count."""
        there = before.exists()
        if not there and not (self.gold and self.reviewed.any()):
            return None
        gold = np.load(before, allow_pickle=False) if there else np.full(rows, -1, dtype=np.int64)
        gold = np.where(gold < 0, -1, self.become[gold])
        told, labels = self.rows[self.reviewed], self.labels[self.reviewed]
        said = (
            np.ones(len(told), dtype=np.bool_) if self.gold else gold[told] >= 0
        )  # the last word on a row counts
        gold[told[said]] = labels[said]
        return gold

    def _amended(self, before: Path, rows: int) -> npt.NDArray[np.int8]:
        """Whose the labels are: as it was known, and of these rows people's or a model's."""
        amended = np.load(before, allow_pickle=False) if before.exists() else np.zeros(rows, dtype=np.int8)
        amended[self.rows] = np.where(self.reviewed, data.BY_PERSON, data.BY_MODEL)
        return amended

    def _given(self, parent: Path, before: data.Labels) -> data.Labels | None:
        """The labels as they came, before the first of all reviews; None where that one did not keep them."""
        first = parent / "given.npy"
        if not first.exists() and (parent / "amended.npy").exists():
            return None
        given = np.load(first, allow_pickle=False) if first.exists() else before
        return np.where(given < 0, -1, self.become[given])


def _link(before: Path, after: Path) -> None:
    """The same bytes under another name: neither is ever changed."""
    try:
        os.link(before, after)
    except OSError:  # a file system without links, or another one
        shutil.copyfile(before, after)


def _name_rows(before: Path, after: Path, names: list[str], y: data.Labels) -> None:
    """The ids as they were beside the new labels, a batch at a time."""
    import pyarrow as pa
    from pyarrow import ipc

    classes, start = pa.array(names), 0
    with pa.OSFile(str(before)) as source, ipc.open_file(source) as rows:
        options = ipc.IpcWriteOptions(compression="lz4")
        with pa.OSFile(str(after), "wb") as sink, ipc.new_file(sink, rows.schema, options=options) as writer:
            for number in range(rows.num_record_batches):
                batch = rows.get_batch(number)
                labels = classes.take(pa.array(y[start : start + batch.num_rows]))
                writer.write_batch(pa.record_batch([batch["id"], labels], schema=rows.schema))
                start += batch.num_rows
