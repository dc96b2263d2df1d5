"""Predictions: at once for some rows, as a job for many."""

import io
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack

import numpy as np

from c2s.client import answers, problems, sources
from c2s.client import progress as bars
from c2s.client.bound import Bound, M, operation
from c2s.client.calls import Call, encoded
from c2s.client.jobs import Followed
from c2s.client.records import Record, id_of
from c2s.client.service import Service

Output = Literal["class", "probabilities", "noisy_probabilities"]
Form = Literal["csv", "jsonl", "parquet"]
MOST_ROWS, MOST_BYTES = 10_000, 4 * 2**20  # of one question; the service takes 8 MiB
NPY = "application/x-npy"
PICTURES = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg"}


class Wish(TypedDict, total=False):
    """What an answer is to hold."""

    top_k: int | None  # the likeliest classes alone
    outputs: Sequence[Output] | None


async def predict(
    service: Service, model: str, inputs: Any, labels: Sequence[Any] | None, wish: Wish
) -> answers.Predicted:
    """Ask a model about rows, in as many questions as they need; all of them go to the version that answers first."""
    parts: list[dict[str, Any]] = []
    for question in questions(model, inputs, labels, wish):
        call = question if not parts else pinned(question, model, parts[0]["model"])
        parts.append(await service.json(call))
    if not parts:
        raise problems.Unusable("there are no rows to predict")
    return answers.Predicted(parts)


def pinned(call: Call, said: str, found: str) -> Call:
    """The same question to the version that answered before, wherever an alias points by now."""
    if call.params:
        params = tuple((name, found if name == "model" else value) for name, value in call.params)
        return replace(call, params=params)
    head = encoded({"model": said})[:-1]
    body = call.body if isinstance(call.body, bytes) else b""
    return replace(call, body=encoded({"model": found})[:-1] + body[len(head) :])


def questions(model: str, inputs: Any, labels: Sequence[Any] | None, wish: Wish) -> Iterator[Call]:
    """Calls that ask about all rows: an array or a picture as it is, anything else as JSON."""
    match inputs:
        case bytes() | bytearray():
            yield _picture(model, bytes(inputs), wish)
        case Path():
            yield _picture(model, inputs.read_bytes(), wish)
        case np.ndarray() if labels is None and inputs.dtype.kind in "biuf":
            sizes = [inputs[0].nbytes] * len(inputs) if len(inputs) else []
            for lot in answers.lots(sizes, rows=MOST_ROWS, size=MOST_BYTES):
                yield _upload(model, _npy(inputs[lot]), NPY, wish)
        case _:
            yield from _json(model, plain_rows(inputs), labels, wish)


def _json(model: str, rows: Sequence[Any], labels: Sequence[Any] | None, wish: Wish) -> Iterator[Call]:
    if labels is not None and len(labels) != len(rows):
        raise problems.Unusable(f"{len(rows)} rows have {len(labels)} labels")
    sizes = [len(encoded(row)) + 1 for row in rows]
    for lot in answers.lots(sizes, rows=MOST_ROWS, size=MOST_BYTES):
        body: dict[str, Any] = {"model": model, "inputs": rows[lot], **{k: v for k, v in wish.items() if v}}
        if labels is not None:
            body["labels"] = list(labels[lot])
        yield Call.post("/predict", body, keyed=False)


def plain_rows(inputs: Any) -> list[Any]:
    """Rows as JSON has them: of a frame, of columns by name, of arrays, or as they are."""
    if isinstance(inputs, np.ndarray):
        return list(inputs.tolist())
    if isinstance(inputs, Mapping) or not isinstance(inputs, Sequence):
        inputs = sources.table(inputs).to_pylist()
    return [_plain(row) for row in inputs]


def _plain(row: Any) -> Any:
    """A row as JSON can say it: what is no number of a table is missing there, as in a file."""
    if isinstance(row, Mapping):
        endless = [name for name, cell in row.items() if isinstance(cell, float) and not math.isfinite(cell)]
        return {**row, **dict.fromkeys(endless)} if endless else row
    return row.tolist() if isinstance(row, np.ndarray) else row


def _picture(model: str, blob: bytes, wish: Wish) -> Call:
    kind = next((kind for magic, kind in PICTURES.items() if blob.startswith(magic)), None)
    if kind is None:
        raise problems.Unusable(
            "bytes are taken for one picture, PNG or JPEG; many rows go to client.predictions"
        )
    return _upload(model, blob, kind, wish)


def _upload(model: str, body: bytes, kind: str, wish: Wish) -> Call:
    return Call.upload("/predict", body, kind=kind, keyed=False, params=asked(model, wish))


def asked(model: str, wish: Wish) -> dict[str, object]:
    """The wish as parameters of an address."""
    outputs = wish.get("outputs")
    chosen = ",".join(outputs) if outputs else None
    return {"model": model, "top_k": wish.get("top_k"), "outputs": chosen}


def _npy(rows: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, rows, allow_pickle=False)
    return file.getvalue()


class Batch(Followed[M]):
    """Predictions for many rows, and how far they are."""

    model_id: str
    dataset_id: str | None
    outputs: list[str]
    top_k: int | None
    rows: int | None
    rows_done: int
    errors: int | None
    bytes: int | None
    sha256: str | None
    columns: list[str] | None
    _home = "/predictions"

    @operation
    async def refresh(self) -> "Batch[M]":
        """Ask the service how they stand now."""
        return await self._refresh()

    @operation
    async def wait(
        self, *, progress: bool | bars.Report = False, timeout: float | None = None, check: bool = True
    ) -> "Batch[M]":
        """Wait for the end, as `Job.wait` does."""
        return await self._wait(progress, timeout, check)

    @operation
    async def results(self, target: str | Path, *, format: Form | None = None) -> Path:  # noqa: A002
        """Write the results to a file; without `format`, what its name ends with."""
        path = Path(target)
        form = format or path.suffix.lstrip(".") or "csv"
        return await self._service.save(Call.get(f"/predictions/{self.id}/results", format=form), path)

    async def _arrow(self) -> Any:
        from pyarrow import parquet

        call = Call.get(f"/predictions/{self.id}/results", format="parquet")
        return parquet.read_table(io.BytesIO((await self._service.ask(call)).body))

    @operation
    async def to_arrow(self) -> Any:
        """The results as an Arrow table."""
        return await self._arrow()

    @operation
    async def to_pandas(self) -> Any:
        """The results as a pandas DataFrame."""
        return (await self._arrow()).to_pandas()

    @operation
    async def delete(self) -> None:
        """Delete it with its results; it must have ended."""
        await self._service.ask(Call("DELETE", f"/predictions/{self.id}"))


class Predictions(Bound[M]):
    """`client.predictions`."""

    @operation
    async def create(
        self,
        model: str | Record[M],
        source: sources.Source = None,
        *,
        dataset: str | Record[M] | None = None,
        **wish: Unpack[Wish],
    ) -> Batch[M]:
        """Predict the rows of a file, a frame or an array, or of a dataset, whose labels are judged too."""
        if (source is None) == (dataset is None):
            raise problems.Unusable("give either rows or a dataset")
        if dataset is not None:
            body = {
                "model": id_of(model),
                "dataset_id": id_of(dataset),
                **{k: v for k, v in wish.items() if v},
            }
            call = Call.post("/predictions", body)
        else:
            found = sources.read(source)
            call = Call.upload("/predictions", found.body, kind=found.kind, params=asked(id_of(model), wish))
        return Batch(self._service, await self._service.json(call))

    @operation
    async def get(self, batch: str | Batch[M]) -> Batch[M]:
        """Predictions by their id."""
        return Batch(self._service, await self._service.json(Call.get(f"/predictions/{id_of(batch)}")))
