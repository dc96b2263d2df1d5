"""The Open Inference Protocol v2 under /v2, so that clients of Triton and KServe work; errors as it has them.

A model's name is its id, the name it was published under, or `name@alias`; its version is its id or its number. What it
takes follows its kind: `pixels` or `image` (PNG or JPEG), `vectors`, `text`, or one tensor for each column of a table.
"""

import importlib.metadata
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

import anyio.to_thread
import numpy as np
import numpy.typing as npt
import orjson
from fastapi import APIRouter, Request, Response
from fastapi.routing import APIRoute
from sqlalchemy import select

from app.api import answers, deps, health, lookup, predictions, questions, scopes, strict, tensors, wishes
from app.core import errors, ids
from app.core.tables import Model
from app.inference import Loaded
from c2s import data
from c2s.interface import Interface, Probabilities
from c2s.reading import columns
from c2s.reading.encoding import TableEncoding

EXTENSIONS = ["binary_tensor_data", "classification"]
FLOATS = ("probabilities", "noisy_probabilities")
OUTPUTS = ("probabilities", "label", "noisy_probabilities")
BINARY = "application/octet-stream"


class Spoken(APIRoute):
    """A route that hands over the request as it is."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        async def handle(request: Request) -> Response:
            scopes.check(request, self.path_format)
            return await self.endpoint(request, **request.path_params)  # type: ignore[no-any-return]

        return handle


router = APIRouter(prefix="/v2", route_class=Spoken, include_in_schema=False)


@router.get("")
async def server(request: Request) -> Response:
    facts = {"name": "c2s", "version": importlib.metadata.version("c2s"), "extensions": EXTENSIONS}
    return _json(facts)


@router.get("/health/live")
async def live(request: Request) -> Response:
    return _json({"live": True})


@router.get("/health/ready")
async def ready(request: Request) -> Response:
    state = request.app.state
    await health.ready(request, state.settings, deps.whole_database(request), state.store)
    return _json({"ready": True, "live": True})  # the published text of the protocol shows `live`


@router.get("/models/{name}")
@router.get("/models/{name}/versions/{version}")
async def metadata(request: Request, name: str, version: str | None = None) -> Response:
    found, model = await _find(request, name, version)
    versions = await anyio.to_thread.run_sync(_versions, request, found.name)
    outputs = [
        {"name": one, "datatype": "FP32", "shape": [-1, len(model.interface.classes)]} for one in FLOATS
    ]
    return _json(
        {
            "name": name,
            "versions": versions if name == found.name else [found.id],
            "platform": "onnxruntime_onnx",
            "inputs": inputs(model.interface),
            "outputs": [*outputs, {"name": "label", "datatype": "BYTES", "shape": [-1]}],
        }
    )


@router.get("/models/{name}/ready")
@router.get("/models/{name}/versions/{version}/ready")
async def model_ready(request: Request, name: str, version: str | None = None) -> Response:
    await _find(request, name, version)
    return _json({"name": name, "ready": True})


@router.post("/models/{name}/infer")
@router.post("/models/{name}/versions/{version}/infer")
async def infer(request: Request, name: str, version: str | None = None) -> Response:
    if strict.media_type(request) not in ("", BINARY):  # Triton's client names no type
        strict.check_json(request)
    found, model = await _find(request, name, version)
    raw = await request.body()
    head, rest = tensors.split(raw, request.headers.get(tensors.HEAD))
    wanted = _wanted(head)
    rows = await predictions.beside(len(raw), request, read, model.interface, tensors.read(head, rest))
    classes = len(model.interface.classes)
    wishes.check(_numbers(len(rows), classes, wanted), len(rows), classes)
    probs = await predictions.compute(request, model, rows)
    answers.check_finite(probs)
    said = {one: _output(model.interface, probs, one, top) for one, (_, top) in wanted.items()}
    facts: dict[str, Any] = {"model_name": name, "model_version": found.id}
    if isinstance(head.get("id"), str):
        facts["id"] = head["id"]
    body, length = tensors.write(facts, said, {one: binary for one, (binary, _) in wanted.items()})
    if length is None:
        return Response(body, media_type=strict.JSON)
    return Response(body, media_type=BINARY, headers={tensors.HEAD: str(length)})


def _json(facts: dict[str, Any]) -> Response:
    return Response(orjson.dumps(facts), media_type=strict.JSON)


async def _find(request: Request, name: str, version: str | None) -> tuple[lookup.Found, Loaded]:
    said = name if version is None else version
    if version is not None and not ids.valid("mdl", version):
        said = f"{name}@{version}"  # a number, or an alias
    found, model = await lookup.model(request.scope, said)
    if said == version and name not in (found.id, found.name):
        raise errors.NotFound(f"model {name[:200]!r} has no version {str(version)[:200]!r}")
    return found, model


def _versions(request: Request, name: str) -> list[str]:
    with deps.database_of(request).read() as tx:
        return list(tx.scalars(select(Model.id).where(Model.name == name).order_by(Model.id).limit(1000)))


def inputs(model: Interface) -> list[dict[str, Any]]:
    """What a model of this kind takes."""
    spec = model.spec
    if isinstance(spec, TableEncoding):
        return [
            {
                "name": column.name,
                "datatype": "FP64" if isinstance(column, columns.Number) and not column.time else "BYTES",
                "shape": [-1],
            }
            for column in spec.columns
        ]
    if model.shape.kind == "text":
        return [{"name": "text", "datatype": "BYTES", "shape": [-1]}]
    if model.shape.image is not None:
        return [{"name": "pixels", "datatype": "UINT8", "shape": [-1, *model.shape.image]}]
    return [{"name": "vectors", "datatype": "FP32", "shape": [-1, model.shape.width]}]


def read(model: Interface, given: Mapping[str, tensors.Tensor]) -> data.Inputs:
    """Tensors as inputs of the model."""
    names = {one["name"] for one in inputs(model)}
    if model.shape.image is not None and given.keys() == {"image"}:
        return np.stack([questions.picture(model, blob) for blob in _texts(given["image"])])
    if given.keys() != names:
        raise errors.Invalid(f"the model takes {', '.join(sorted(names))[:300]}; /v2/models/... says more")
    rows = {len(one.values) if isinstance(one.values, list) else one.shape[0] for one in given.values()}
    if len(rows) != 1 or not 1 <= min(rows) <= questions.MOST_ROWS:
        raise errors.Invalid(f"every input needs the same number of rows, 1 to {questions.MOST_ROWS}")
    if isinstance(model.spec, TableEncoding):
        listed = [
            dict(zip(given, row, strict=True)) for row in zip(*map(_column, given.values()), strict=True)
        ]
        return questions.rows(model, listed)
    (tensor,) = given.values()
    if isinstance(tensor.values, list):
        return questions.rows(model, _decoded(tensor))
    if model.shape.kind == "text":
        raise errors.Invalid("the input text is of datatype BYTES")
    return questions.plain(model, tensor.values)


def _texts(tensor: tensors.Tensor) -> list[bytes]:
    if not isinstance(tensor.values, list) or not 1 <= len(tensor.values) <= questions.MOST_ROWS:
        raise errors.Invalid(f"the input {tensor.name[:100]!r} is 1 to {questions.MOST_ROWS} BYTES")
    return tensor.values


def _decoded(tensor: tensors.Tensor) -> list[str]:
    try:
        return [blob.decode() for blob in _texts(tensor)]
    except UnicodeDecodeError as exc:
        raise errors.Invalid(f"the input {tensor.name[:100]!r} is not UTF-8") from exc


def _column(tensor: tensors.Tensor) -> list[Any]:
    """One value a row; an empty text is a missing one, as in a CSV."""
    if isinstance(tensor.values, list):
        return [text or None for text in _decoded(tensor)]
    if tensor.values.size != tensor.shape[0]:
        raise errors.Invalid(f"the input {tensor.name[:100]!r} must have one value a row")
    flat = tensor.values.ravel()
    return [None if value != value else value for value in flat.tolist()]  # NaN is missing


def _wanted(head: Mapping[str, Any]) -> dict[str, tuple[bool, int]]:
    """The outputs by name: whether in binary, and how many classes if as a classification."""
    everywhere = tensors.parameters(head).get("binary_data_output") is True
    given = head.get("outputs")
    if given is None:
        return dict.fromkeys(OUTPUTS[:2], (everywhere, 0))
    if not isinstance(given, list) or not given or not all(isinstance(one, dict) for one in given):
        raise errors.Invalid("outputs must be a list of tensors")
    found = {}
    for one in given:
        name, asked = one.get("name"), tensors.parameters(one)
        top = asked.get("classification", 0)
        if name not in OUTPUTS or type(top) is not int or top < 0 or (top and name == "label"):
            raise errors.Invalid(f"outputs are {', '.join(OUTPUTS)}, the first also as a classification")
        found[name] = asked.get("binary_data", everywhere) is True, top
    return found


def _numbers(rows: int, classes: int, wanted: Mapping[str, tuple[bool, int]]) -> int:
    """The probabilities in an answer; a classification has so many of them as it names classes."""
    top = (wanted["probabilities"][1] or classes) if "probabilities" in wanted else 0
    return wishes.numbers(rows, classes, top=top, noisy="noisy_probabilities" in wanted)


def _output(
    model: Interface, probs: Probabilities, name: str, top: int
) -> npt.NDArray[np.float32] | Sequence[str]:
    if name == "label":
        return [model.classes[place] for place in probs.argmax(axis=1).tolist()]
    numbers = probs if name == "probabilities" else model.noisy_posterior(probs)
    if not top:
        return numbers.astype(np.float32)
    ranked = np.argsort(-numbers, axis=1, kind="stable")[:, :top]  # (n, k), as `value:index:label`
    return [
        f"{row[k]:.6f}:{k}:{model.classes[k]}" for row, ks in zip(numbers, ranked, strict=True) for k in ks
    ]
