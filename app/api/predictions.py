"""Predictions: rows in, class names and probabilities out.

The handler takes the request as it is and answers bytes: a model per row, or an answer checked against its own
schema, would cost more than the prediction. What it takes and gives is documented all the same.
"""

import time
from collections.abc import Callable, Coroutine
from typing import Any, Literal, ParamSpec, TypeVar

import anyio.to_thread
from fastapi import APIRouter, Request, Response
from fastapi.routing import APIRoute
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from app import batching, heads
from app.api import acceptance, answers, deps, lines, lookup, problems, questions, scopes, strict, wishes
from app.core import metrics, models
from app.core.ledger import Ledger
from app.inference import Inference, Loaded
from c2s import data
from c2s.runtime import Probabilities

IMAGES = ("image/png", "image/jpeg")
NPY, NDJSON = "application/x-npy", "application/x-ndjson"
FORMS = {kind: kind for kind in (strict.JSON, NPY)}
PNG = b"\x89PNG\r\n\x1a\n"
LONG = 64 * 1024  # bytes of a body that is read beside the event loop

P = ParamSpec("P")
T = TypeVar("T")


class Ranked(deps.Out):
    class_: str
    probability: float


class Audit(deps.Out):
    """What the model thinks of a given label: P(it is wrong), and the likeliest true class, given row and label."""

    label: str
    wrong: float
    likeliest: str
    probability: float


class Prediction(deps.Out):
    """The likeliest class of a row; all probabilities in the order of `classes`, or the `top_k` likeliest."""

    class_: str | None = None
    probability: float | None = None
    probabilities: list[float] | None = None
    top: list[Ranked] | None = None
    noisy_probabilities: list[float] | None = None  # of the label that a careless labeller would give
    audit: Audit | None = None


class PredictOut(deps.Out):
    """The version that answered, and what it says.

    Labels are audited by the matrix of labels as they came (`audited_as` is `given`), also by a model that was trained
    on labels put right; `corrected`: it was, and knows no other matrix, so it finds fewer wrong labels than there are.
    """

    model: str
    name: str
    version: int
    classes: list[str]
    predictions: list[Prediction]
    audited_as: Literal["given", "corrected"] | None = None  # with labels alone


class Plain(Response):
    """Bytes that are there already, and no more headers than they need."""

    def __init__(self, body: bytes, kind: str, *more: tuple[bytes, bytes]) -> None:
        self.status_code, self.body, self.background = 200, body, None
        size = (b"content-length", b"%d" % len(body))
        self.raw_headers = [size, (b"content-type", kind.encode("ascii")), *more]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        await send({"type": "http.response.body", "body": self.body})


class Lean(APIRoute):
    """A route whose handler takes the request as it is."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        async def handle(request: Request) -> Response:
            scopes.check(request, self.path_format)
            answer: Response = await self.endpoint(request)
            return answer

        return handle


router = APIRouter(route_class=Lean, tags=["predictions"], responses=problems.documented(400, 409, 429))
BINARY = {"schema": {"type": "string", "format": "binary"}}
BODY = {strict.JSON: {"schema": questions.PredictIn.model_json_schema()}}
QUERY = [
    {"name": "model", "schema": {"type": "string", "minLength": 1, "maxLength": models.LONGEST}},
    {"name": "top_k", "schema": {"type": "integer", "minimum": 1, "maximum": 1000}},
    {"name": "outputs", "schema": {"type": "string"}},
]
ABOUT = "for a body that is not JSON"


@router.post(
    "/predict",
    summary="Predict the clean class of rows, of an image or of an array, and audit labels",
    responses={200: {"model": PredictOut, "content": {NPY: BINARY, NDJSON: {"schema": {"type": "string"}}}}},
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": BODY
            | dict.fromkeys((*IMAGES, NPY), BINARY)
            | {NDJSON: {"schema": {"type": "string"}}},
        },
        "parameters": [{**one, "in": "query", "required": False, "description": ABOUT} for one in QUERY],
    },
)
async def predict(request: Request) -> Response:
    scope = request.scope
    asked_for = wishes.asked(scope["query_string"])
    kind = strict.media_type(request)
    if kind == NDJSON:
        name, wish = asked_for.named
        found, model = await lookup.model(scope, name)
        return lines.answer(request, model, wish, compute, {"X-Model": found.id})
    raw = await _body(request.receive)
    labels, as_array = None, _takes_array(heads.text(scope, b"accept"))
    if kind == NPY or kind in IMAGES:
        name, wish = asked_for.named
        found, model = await lookup.model(scope, name)
        read, size = (_array, len(raw)) if kind == NPY else (_image, _unpacked(raw))
        rows = read(model, raw) if size <= LONG else await beside(size, request, read, model, raw)
    else:
        strict.check_json(request, NDJSON, NPY, *IMAGES)
        asked_for.check_none()
        asked = await beside(len(raw), request, questions.asked, raw)
        wish = wishes.Wish.of(asked.top_k, asked.outputs)
        found, model = await lookup.model(scope, asked.model)
        if asked.labels is not None:
            _check_tells(as_array)
            labels = questions.labels(model.interface, asked.labels, len(asked.inputs))
        wish.check(len(asked.inputs), len(model.interface.classes), audited=labels is not None)
        rows = await beside(len(raw), request, questions.rows, model.interface, asked.inputs)
    wish.check(len(rows), len(model.interface.classes), audited=labels is not None)
    probs = await compute(request, model, rows)
    answers.check_finite(probs)
    if as_array:
        return Plain(answers.npy(model.interface, probs, wish), NPY, (b"x-model", found.id.encode()))
    return Plain(answers.json(found, model.interface, probs, wish, labels), strict.JSON)


def _takes_array(accept: str) -> bool:
    return NPY in accept.lower() and acceptance.best(accept, FORMS) == NPY


def _check_tells(as_array: bool) -> None:
    """Refuse labels where the answer has no place for what is said of them."""
    if as_array:
        raise questions.wrong(
            "an array cannot say what labels are worth: take JSON", "/labels", code="invalid"
        )


async def compute(request: Request, model: Loaded, rows: data.Inputs) -> Probabilities:
    """P(clean class | row), unless the client has left by the time it is its turn."""
    state, caller = request.app.state, request.scope["state"]["caller"]
    inference: Inference = state.inference
    ledger: Ledger = state.ledger
    if not ledger.knows(caller):
        await anyio.to_thread.run_sync(ledger.learn, caller)
    ledger.predict(caller, len(rows))
    began = time.monotonic()
    try:
        probs = await inference.probabilities(model, rows, request.scope.get("c2s.gone", batching.present))
    except batching.Left as exc:
        raise ClientDisconnect from exc
    metrics.predicted(time.monotonic() - began)
    return probs


async def _body(receive: Receive) -> bytes:
    """The whole body; most come in one piece."""
    parts = []
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        parts.append(message.get("body", b""))
        more = message.get("more_body", False)
    return parts[0] if len(parts) == 1 else b"".join(parts)


async def beside(size: int, request: Request, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Do the work here if it is small, else in a thread."""
    if size <= LONG:
        return work(*args, **kwargs)
    limiter = request.app.state.encoders
    return await anyio.to_thread.run_sync(lambda: work(*args, **kwargs), limiter=limiter)


def _array(model: Loaded, raw: bytes) -> data.Inputs:
    return questions.plain(model.interface, questions.array(raw))


def _image(model: Loaded, raw: bytes) -> data.Inputs:
    return questions.picture(model.interface, raw)[None]


def _unpacked(raw: bytes) -> int:
    """The bytes that a picture will have at most; a size only where a PNG says it plainly."""
    if not raw.startswith(PNG):
        return LONG + 1
    return 8 * int.from_bytes(raw[16:20], "big") * int.from_bytes(raw[20:24], "big")
