"""What a prediction is asked with: JSON rows, pictures in JSON or as the body, or an NPY array, made into inputs."""

import ast
import base64
import binascii
import functools
import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field, ValidationError

import c2s.errors
from app.api import problems, strict
from app.core import errors, models
from c2s import data
from c2s.interface import Interface
from c2s.reading import pictures

MOST_ROWS = 10_000
PICTURE = ("image", "b64")  # the field of a row that holds one in base64
NPY = b"\x93NUMPY"
Output = Literal["class", "probabilities", "noisy_probabilities"]
Label = str | int | float | bool


class PredictIn(BaseModel):
    """Rows as the model's dataset had them: objects, lists of numbers, texts, or nested lists of pixels.

    A picture may also be `{"image": "<PNG or JPEG in base64>"}`. With `labels`, one a row, the answer audits them.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    model: Annotated[str, Field(min_length=1, max_length=models.LONGEST)]  # an id, name, name@alias or name@3
    inputs: Annotated[list[Any], Field(min_length=1, max_length=MOST_ROWS)]
    top_k: Annotated[int | None, Field(ge=1, le=1000)] = None  # None: the probability of every class
    outputs: Annotated[list[Output] | None, Field(min_length=1, max_length=3)] = None
    labels: list[Label] | None = None


def asked(raw: bytes) -> PredictIn:
    """The question in a JSON body."""
    value = strict.parse(raw, endless=True)  # of a table they are missing values
    try:
        return PredictIn.model_validate(value)
    except ValidationError as exc:
        raise problems.refused(exc, value) from exc


def rows(model: Interface, raw: Sequence[Any]) -> data.Inputs:
    """Raw rows as inputs; one that the model cannot read is 422 with a pointer to it."""
    try:
        if model.shape.image is not None and any(isinstance(row, Mapping) for row in raw):
            return np.stack([_picture(model, row, place) for place, row in enumerate(raw)])
        return model.raw(raw)
    except c2s.errors.InvalidDataset:
        place, why = model.culprit(raw)
        raise wrong(str(why), pointer(raw, place, why.field)) from why


def picture(model: Interface, blob: bytes, place: str = "") -> npt.NDArray[np.uint8]:
    """A PNG or JPEG, brought to the size of the training pictures."""
    if model.shape.image is None:
        raise wrong(f"the model reads {model.shape.kind} rows, not pictures", place)
    try:
        return pictures.decode(blob, *model.shape.image)  # (h, w, c)
    except c2s.errors.InvalidDataset as exc:
        raise wrong(str(exc), place) from exc


def _picture(model: Interface, row: Any, place: int) -> npt.NDArray[Any]:
    """One picture of several, which may be lists of pixels among them."""
    if not isinstance(row, Mapping):
        try:
            return model.raw([row])[0]  # type: ignore[no-any-return,index]
        except c2s.errors.InvalidDataset as exc:
            raise wrong(str(exc), f"/inputs/{place}") from exc
    if len(row) != 1 or (name := next(iter(row))) not in PICTURE:
        raise wrong('a picture is {"image": "<base64>"} or lists of pixels', f"/inputs/{place}")
    where = f"/inputs/{place}/{name}"
    try:
        blob = base64.b64decode(row[name], validate=True)
    except (TypeError, ValueError, binascii.Error) as exc:
        raise wrong("the picture is not in base64", where) from exc
    return picture(model, blob, where)


def array(raw: bytes) -> npt.NDArray[Any]:
    """The array of an NPY body (versions 1 to 3); anything that is not plain numbers is refused."""
    if len(raw) < 12 or not raw.startswith(NPY) or raw[6] not in (1, 2, 3):
        raise wrong("the body is no NPY file", "")
    start = 10 if raw[6] == 1 else 12
    stop = start + int.from_bytes(raw[8:start], "little")
    dtype, shape, fortran = _header(raw[start:stop])
    count = math.prod(shape)
    if len(raw) - stop != count * dtype.itemsize:
        raise wrong(f"the body does not hold the {count} numbers that its head promises", "")
    found = np.frombuffer(raw, dtype, offset=stop).reshape(shape, order="F" if fortran else "C")
    return found if dtype.isnative else found.astype(dtype.newbyteorder("="))


@functools.lru_cache(256)
def _header(text: bytes) -> tuple[np.dtype[Any], tuple[int, ...], bool]:
    try:
        head: Any = ast.literal_eval(text.decode("latin-1")) if len(text) <= 1000 else None
        dtype, shape, fortran = np.dtype(head["descr"]), head["shape"], head["fortran_order"]
        fits = dtype.kind in "buif" and 0 < len(shape) <= 4 and all(type(size) is int for size in shape)
        if not fits or min(shape) < 0 or max(shape) > 2**31 or type(fortran) is not bool:
            raise ValueError("no plain array")
    except Exception as exc:  # a literal of any kind, or none
        raise wrong("the NPY head is no array of numbers with rows", "") from exc
    return dtype, tuple(shape), fortran


def plain(model: Interface, found: npt.NDArray[Any]) -> data.Inputs:
    """An array as inputs; its first axis are the rows."""
    if not 1 <= len(found) <= MOST_ROWS:
        raise wrong(f"an array must have 1 to {MOST_ROWS} rows, not {len(found)}", "")
    if model.shape.kind in ("text", "tabular"):
        raise wrong(f"the model reads {model.shape.kind} rows, not arrays: send JSON", "")
    try:
        return model.raw(found)
    except c2s.errors.InvalidDataset as exc:
        raise wrong(str(exc), "") from exc


def labels(model: Interface, given: Sequence[Label], count: int) -> npt.NDArray[np.int64]:
    """The classes that the user's labels name; an unknown one is 422 with a pointer to it."""
    if len(given) != count:
        raise wrong(f"{count} rows need as many labels, not {len(given)}", "/labels", code="invalid")
    found = np.array([model.places.get(str(label), -1) for label in given])
    if (found < 0).any():
        place = int((found < 0).argmax())
        raise wrong("the model knows no such class", f"/labels/{place}", code="invalid")
    return found


def pointer(raw: Sequence[Any], place: int, field: str | int | None) -> str:
    """Where the fault lies: the row, and the field of it if one is to blame."""
    row = raw[place]
    inside = (isinstance(row, Mapping) and field is not None) or (
        isinstance(row, list) and isinstance(field, int) and field < len(row)
    )
    parts = (str(place), str(field)) if inside else (str(place),)
    return "/inputs/" + "/".join(part.replace("~", "~0").replace("/", "~1") for part in parts)


def wrong(detail: str, where: str, *, code: str = "invalid_input") -> errors.Invalid:
    """What is said of rows that cannot be used."""
    fault = {"pointer": where[: problems.LONGEST_POINTER], "code": code, "detail": detail}
    return errors.Invalid(detail, code=code, errors=[fault])
