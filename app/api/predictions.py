"""Predictions: rows in, class names and probabilities out."""

from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel, ConfigDict, Field, ValidationError

import c2s.errors
from app.api import deps, models, problems, strict
from app.core import errors, ids
from app.core.db import Database
from app.inference import Inference

router = APIRouter(route_class=strict.Strict, tags=["predictions"], responses=problems.documented(400))
MOST_ROWS = 10_000
MOST_NUMBERS = 1_000_000  # probabilities in one answer
IMAGES = ("image/png", "image/jpeg")
Id = Annotated[str, Field(pattern=ids.pattern("mdl"))]


class PredictIn(BaseModel):
    """Rows as the model's dataset had them: objects, lists of numbers, texts, or nested lists of pixels."""

    model_config = ConfigDict(extra="forbid", strict=True)

    model: Id
    inputs: Annotated[list[Any], Field(min_length=1, max_length=MOST_ROWS)]
    top_k: Annotated[int | None, Field(ge=1, le=1000)] = None  # None: the probability of every class


class Ranked(deps.Out):
    class_: str
    probability: float


class Prediction(deps.Out):
    """The likeliest class of a row; all probabilities in the order of `classes`, or the `top_k` likeliest."""

    class_: str
    probability: float
    probabilities: list[float] | None = None
    top: list[Ranked] | None = None


class PredictOut(deps.Out):
    model: str
    classes: list[str]
    predictions: list[Prediction]


async def _body(request: Request) -> bytes:
    return await request.body()


async def _inference(request: Request) -> Inference:
    found: Inference = request.app.state.inference
    return found


BODY: dict[str, Any] = {strict.JSON: {"schema": PredictIn.model_json_schema()}}
BODY |= {kind: {"schema": {"type": "string", "format": "binary"}} for kind in IMAGES}


@router.post(
    "/predict",
    summary="Predict the clean class of rows, or of one image",
    openapi_extra={"requestBody": {"required": True, "content": BODY}},
)
def predict(
    request: Request,
    raw: Annotated[bytes, Depends(_body)],
    *,
    database: deps.Db,
    inference: Annotated[Inference, Depends(_inference)],
    model: Annotated[
        str | None, Query(pattern=ids.pattern("mdl"), description="for an image as the body")
    ] = None,
    top_k: Annotated[int | None, Query(ge=1, le=1000, description="for an image as the body")] = None,
) -> PredictOut:
    if strict.media_type(request) not in IMAGES:
        strict.check_json(request)
        asked = _asked(strict.parse(raw))
        return _predict(asked.model, asked.inputs, asked.top_k, database=database, inference=inference)
    if model is None:
        detail = "an image does not say which model it is for"
        raise errors.Invalid(detail, errors=[{"parameter": "model", "code": "missing", "detail": detail}])
    return _predict(model, raw, top_k, database=database, inference=inference)


def _asked(value: object) -> PredictIn:
    try:
        return PredictIn.model_validate(value)
    except ValidationError as exc:
        found = exc.errors(include_url=False, include_input=False)
        raise problems.invalid(
            [{**fault, "loc": (problems.BODY, *fault["loc"])} for fault in found], value
        ) from exc


def _predict(
    model: str, inputs: list[Any] | bytes, top_k: int | None, *, database: Database, inference: Inference
) -> PredictOut:
    with database.read() as tx:
        folder = models.find(tx, model).folder
    classes = inference.model(folder).classes
    if top_k is None and isinstance(inputs, list) and len(inputs) * len(classes) > MOST_NUMBERS:
        raise _wrong(f"{len(inputs)} rows of {len(classes)} classes are too many at once: ask for top_k")
    try:
        if isinstance(inputs, bytes):
            probs = inference.of_picture(folder, inputs)
        else:
            probs = inference.probabilities(folder, inputs)
    except c2s.errors.InvalidDataset as exc:
        raise _wrong(str(exc)) from exc
    if not np.isfinite(probs).all():
        raise _wrong(f"row {int(np.argwhere(~np.isfinite(probs))[0][0])} is too large for the model")
    return PredictOut(
        model=model, classes=list(classes), predictions=[_one(row, classes, top_k) for row in probs]
    )


def _one(row: Any, classes: tuple[str, ...], top_k: int | None) -> Prediction:
    best = int(row.argmax())
    said = Prediction(class_=classes[best], probability=float(row[best]))
    if top_k is None:
        return said.model_copy(update={"probabilities": row.tolist()})
    order = np.argsort(-row, kind="stable")[:top_k]
    return said.model_copy(
        update={"top": [Ranked(class_=classes[place], probability=float(row[place])) for place in order]}
    )


def _wrong(detail: str) -> errors.Invalid:
    fault = {"pointer": "/inputs", "code": "invalid_input", "detail": detail}
    return errors.Invalid(detail, code="invalid_input", errors=[fault])
