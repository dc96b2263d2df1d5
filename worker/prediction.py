"""One attempt at predictions, inside the predictor: a part for each chunk of rows, then all of them as one file.

A part appears whole and never changes, so that an attempt goes on after the last one and ends with the same bytes.
"""

import contextlib
import resource
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from app.core.errors import TooMany
from app.core.storage import PREDICTIONS
from app.intake import options, reading, refusal
from c2s import errors, folders, runtime
from worker import answering, childhood, plan, sources

ROWS, BYTES = 8192, 2**24  # of a chunk, whichever is less
NUMBER_BYTES = 32  # of one probability, with all that is made of it
READING = 0.1  # of the progress is reading a file

pa.set_cpu_count(1)
pa.set_io_thread_count(1)


class Stop(Exception):
    """The supervisor asked for an end."""


class Teller:
    """Tells the supervisor how far it is, and turns the wish to stop into an exception."""

    def __init__(self, channel: childhood.Channel) -> None:
        self.phase, self.stopping = "loading", False
        self._channel, self._clock, self._done = channel, plan.Clock(), 0.0

    def step(self, phase: str) -> None:
        """A phase of the job begins."""
        self.phase = phase
        self._channel.say("phase", phase=phase)

    def saved(self, part: int, size: int) -> None:
        """A part is on the disk."""
        self._channel.say("checkpoint", phase=self.phase, step="predict", epoch=part, bytes=size)

    def report(
        self, rows: int, of: int | None, *, chunk: int = 0, chunks: int = 0, share: float = 0.0
    ) -> None:
        """So many rows are done."""
        self._done = READING + (0.95 - READING) * rows / of if of else share
        self._channel.say(
            "progress",
            fraction=self._done,
            phase=self.phase,
            epoch=chunk,
            epochs=chunks,
            metrics={"rows_done": rows, "rows": of},
            eta_seconds=self._clock.left(self._done) if rows else None,
            elapsed_seconds=self._clock.elapsed,
        )
        if self.stopping:
            raise Stop


@dataclass(frozen=True)
class Result:
    """What a finished attempt has."""

    rows: int
    errors: int
    bytes: int
    sha256: str
    columns: list[str]
    memory_bytes: int  # at most, of this process or of the one that read the file


def run(asked: dict[str, Any], teller: Teller) -> Result:
    """Predict all rows, from where earlier attempts left off."""
    folder = Path(asked["run"])
    with folders.reserved(folder):
        teller.step("loading")
        shutil.rmtree(folder / "result", ignore_errors=True)  # made at once from the parts
        model = runtime.Runtime.load(Path(asked["model"]), threads=asked["threads"])
        source = _source(asked, folder, model, teller)
        form = answering.Form(model.interface, source, tuple(asked["outputs"]), asked["top_k"])
        parts = Parts(folder / "parts", form.schema)
        chunk = _chunk(folder, source, len(model.interface.classes))
        teller.step("predicting")
        wrong = _predict(model, form, parts, chunk, teller)
        teller.step("packaging")
        return _package(folder / "result", parts, len(source), wrong)


def _source(asked: dict[str, Any], folder: Path, model: runtime.Runtime, teller: Teller) -> sources.Source:
    if asked["dataset"] is not None:
        return sources.Labelled(Path(asked["dataset"]), model.interface)
    rows = folder / "rows"
    if not rows.is_dir():
        teller.step("reading")
        teller.report(0, None)
        limits = options.Limits(
            memory_bytes=asked["memory_bytes"], seconds=asked["seconds"], rows=asked["most_rows"]
        )
        told = options.Options(format=asked["format"])
        try:
            reading.encode(Path(asked["source"]), rows, Path(asked["model"]) / "card.json", told, limits)
        except refusal.Refused as exc:
            if asked["over"] and exc.reasons[0]["code"] == "too_many_rows":  # for today
                raise TooMany(
                    f"{asked['over']}, and {exc.reasons[0]['detail']}", code="quota_exceeded"
                ) from exc
            raise errors.InvalidDataset(f"the file cannot be used: {exc}") from exc
    return sources.Uploaded(rows)


def _chunk(folder: Path, source: sources.Source, classes: int) -> int:
    """The rows of a chunk; later attempts keep to it, and its file says that there is something to go on from."""
    path = folder / "run" / "run.json"
    if not path.exists():
        size = max(1, source.row_bytes, NUMBER_BYTES * classes)
        path.parent.mkdir(exist_ok=True)
        draft = path.with_name("run.json.part")
        folders.write_json(draft, {"chunk": max(1, min(ROWS, BYTES // size)), "rows": len(source)})
        folders.flush(draft)
        draft.replace(path)
    plan = folders.read_json(path)
    if plan["rows"] != len(source):
        raise errors.InvalidDataset("the rows are not those that the predictions began with")
    return int(plan["chunk"])


class Parts:
    """The finished parts, numbered from 0."""

    def __init__(self, folder: Path, schema: pa.Schema) -> None:
        folder.mkdir(exist_ok=True)
        self._folder, self._schema = folder, schema
        self.count = 0

    def path(self, number: int) -> Path:
        """Where a part lies."""
        return self._folder / f"{number:06d}.parquet"

    def resume(self, rows: int, chunk: int) -> int:
        """Count the sound parts there are, and the rows at fault in them; what follows a damaged one is made again."""
        wrong = 0
        with contextlib.suppress(pa.ArrowException, OSError):
            for number in range(-(-rows // chunk)):
                table = self.read(number)
                fits = len(table) == min(chunk, rows - number * chunk)
                if not fits or table.column_names != self._schema.names:
                    break  # of another version of ours
                wrong += len(table) - table["error"].null_count
                self.count = number + 1
        return wrong

    def read(self, number: int) -> pa.Table:
        """A part, whose bytes are those that were written."""
        with parquet.ParquetFile(self.path(number), page_checksum_verification=True) as file:
            return file.read(use_threads=False)

    def add(self, table: pa.Table) -> int:
        """Keep the next part; its size."""
        path = self.path(self.count)
        draft = path.with_name(f"{path.name}.part")
        parquet.write_table(table, draft, row_group_size=len(table), write_page_checksum=True)
        folders.flush(draft)
        draft.replace(path)
        folders.flush(self._folder)
        self.count += 1
        return path.stat().st_size

    def all(self) -> Iterator[pa.Table]:
        """Every part."""
        return (self.read(number) for number in range(self.count))


def _predict(model: runtime.Runtime, form: answering.Form, parts: Parts, chunk: int, teller: Teller) -> int:
    """Make the parts that are missing; the rows at fault in all of them."""
    rows = len(form.source)
    wrong = parts.resume(rows, chunk)
    chunks = -(-rows // chunk)
    teller.report(min(rows, parts.count * chunk), rows, chunk=parts.count, chunks=chunks)
    for start in range(parts.count * chunk, rows, chunk):
        stop = min(rows, start + chunk)
        piece = form.source.read(start, stop)
        inputs = model.interface.fitting(piece.inputs)
        table = form.table(piece, model.session.probabilities(inputs), start)
        teller.saved(parts.count, parts.add(table))
        wrong += len(table) - table["error"].null_count
        teller.report(stop, rows, chunk=parts.count, chunks=chunks)
    return wrong


def _package(folder: Path, parts: Parts, rows: int, wrong: int) -> Result:
    """All parts as one file, a row group each."""
    with folders.whole(folder) as draft:
        schema = parts.read(0).schema
        with parquet.ParquetWriter(draft / PREDICTIONS, schema, write_page_checksum=True) as writer:
            for table in parts.all():
                writer.write_table(table, row_group_size=len(table))
    path = folder / PREDICTIONS
    size, sha256 = path.stat().st_size, folders.digest(path)
    return Result(rows, wrong, size, sha256, schema.names, _memory())


def _memory() -> int:
    """The most that this process, or the reader below it, had in memory; getrusage counts what a parent had too."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    own = int(status.partition("VmHWM:")[2].split()[0])
    return 1024 * max(own, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
