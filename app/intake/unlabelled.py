"""Rows to predict, from a file's bytes to a model's inputs by its own encoding; loaded only in the limited process."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from app.intake import cells, lots, refusal, sniff
from app.intake import options as chosen
from app.intake.lots import Lot
from app.intake.reading import Encoded
from c2s import data, errors, folders, slices
from c2s.interface import Interface
from c2s.reading import commas, encoding

NOTES = "rows.jsonl"  # a line for each row: its place in the file, and what is wrong with it
PLACES = {"csv": "line", "jsonl": "line", "zip": "entry"}

pa.set_cpu_count(1)
pa.set_io_thread_count(1)


def ingest(
    source: Path, target: Path, options: chosen.Options, *, limits: chosen.Limits, card: Path
) -> Encoded:
    """Encode the file's rows into the folder `target`; a row that cannot be encoded is noted, and counts."""
    try:
        model = Interface(folders.read_json(card))
        form = sniff.detect(source, options, one_column=True)
        return _write(source, form, model, target, limits)
    except errors.C2SError as exc:
        if isinstance(exc.__cause__, MemoryError):
            raise MemoryError from exc
        raise refusal.refuse("unreadable", str(exc)) from exc


def _write(
    source: Path, form: chosen.Format, model: Interface, target: Path, limits: chosen.Limits
) -> Encoded:
    faults = 0
    with slices.Writer(target) as writer:
        with (target / NOTES).open("xb") as notes:
            for inputs, lot in _inputs(source, form, model, limits):
                writer.append(inputs)
                if writer.rows > limits.rows:
                    raise refusal.refuse("too_many_rows", f"at most {limits.rows} rows can be predicted now")
                places: Sequence[int | str | None] = lot.places or [None] * len(inputs)
                notes.writelines(
                    orjson.dumps([place, lot.faults.get(row)], option=orjson.OPT_APPEND_NEWLINE)
                    for row, place in enumerate(places)
                )
                faults += len(lot.faults)
        if writer.rows == 0:
            raise refusal.refuse("empty", "the file has no rows")
        writer.finish(kind=model.shape.kind, places=PLACES.get(form))
    return Encoded(rows=writer.rows, faults=faults)


def _inputs(
    source: Path, form: chosen.Format, model: Interface, limits: chosen.Limits
) -> Iterator[tuple[data.Inputs, Lot]]:
    spec = model.spec
    if form == "zip":
        if model.shape.image is None:
            raise refusal.refuse("unknown_format", f"the model reads {model.shape.kind} rows, not pictures")
        for lot in lots.packed_pictures(source, limits, model.shape.image):
            yield _pixels(lot), lot
    elif form == "npz":
        for lot in lots.npz(source, limits):
            yield _array(model, spec, lot), lot
    else:
        read = {"csv": lots.comma_separated, "jsonl": lots.lines_of_json, "parquet": lots.parquet}[form]
        point = commas.decimal_point(source, commas.delimiter(source)) if form == "csv" else "."
        for lot in read(source, cells.wanted(spec), limits):
            columns = cells.typed(spec, lot, point=point)
            if count := len(next(iter(columns.values()))):
                yield _encoded(model, Rows(columns, count), lot), lot


def _pixels(lot: Lot) -> data.Inputs:
    if lot.array is None:
        raise errors.InvalidDataset("the pictures are gone")
    return lot.array


def _array(model: Interface, spec: encoding.Encoding, lot: Lot) -> data.Inputs:
    array = _pixels(lot)
    if not isinstance(array, np.ndarray) or (spec.kind == "text") != (array.ndim == 1):
        raise refusal.refuse("bad_array", f"the model reads {model.shape.kind} rows, not such an array")
    if spec.kind == "text":
        return model.raw(array.tolist())
    flat = array.reshape(len(array), -1)
    if spec.kind == "vectors":
        array = flat
    model.raw(np.zeros((1, *array.shape[1:]), array.dtype))  # of another shape: the file's fault, not a row's
    if array.dtype.kind == "f":
        with np.errstate(over="ignore"):
            bad = ~np.isfinite(flat.astype(np.float32)).all(axis=1)
        said = "the row holds NaN, an infinity or no float32"
        lot.faults.update(dict.fromkeys(np.flatnonzero(bad).tolist(), said))
    return _encoded(model, Rows(array, len(array)), lot)


class Rows:
    """Rows of columns or of an array, of which some can be taken, and blanked."""

    def __init__(self, rows: Any, count: int) -> None:
        self.rows, self.count = rows, count

    def some(self, start: int, stop: int) -> Any:
        """These rows."""
        if isinstance(self.rows, dict):
            return {name: column.slice(start, stop - start) for name, column in self.rows.items()}
        return self.rows[start:stop]

    def blank(self, faults: dict[int, str]) -> None:
        """Put something harmless in the place of these rows."""
        if not faults:
            return
        rows = np.array(sorted(faults))
        if not isinstance(self.rows, dict):
            self.rows = np.array(self.rows)
            self.rows[rows] = 0
            return
        mask = np.zeros(self.count, dtype=np.bool_)
        mask[rows] = True
        for name, column in self.rows.items():
            plain = pa.scalar(0.0 if pa.types.is_floating(column.type) else None, column.type)
            self.rows[name] = pa.chunked_array([pc.if_else(pa.array(mask), plain, column.combine_chunks())])


def _encoded(model: Interface, rows: Rows, lot: Lot) -> data.Inputs:
    """The rows as inputs; each that the encoding refuses alone is noted."""
    rows.blank(lot.faults)
    try:
        return model.raw(rows.some(0, rows.count))
    except errors.InvalidDataset:
        found = dict(_culprits(model, rows, 0, rows.count))
        lot.faults.update(found)
        rows.blank(found)
        return model.raw(rows.some(0, rows.count))


def _culprits(model: Interface, rows: Rows, start: int, stop: int) -> Iterator[tuple[int, str]]:
    try:
        model.raw(rows.some(start, stop))
    except errors.InvalidDataset as exc:
        if stop - start == 1:
            yield start, str(exc)
            return
        middle = (start + stop) // 2
        yield from _culprits(model, rows, start, middle)
        yield from _culprits(model, rows, middle, stop)
