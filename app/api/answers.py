"""Probabilities as answers: JSON with class names, or an NPY array; made without a model per row, for speed."""

import functools
import io
import math
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from app.api import questions, wishes
from app.api.lookup import Found
from app.core import errors
from c2s.interface import Interface, Probabilities
from c2s.judging import verdicts


def check_finite(probs: Probabilities) -> None:
    """Refuse rows that left the numbers inside the net."""
    flat = probs.reshape(-1)
    if not math.isfinite(flat.dot(flat)):  # no square of a probability is too large
        place = int(np.argwhere(~np.isfinite(probs))[0][0])
        raise questions.wrong(f"row {place} is too large for the model", f"/inputs/{place}")


def json(
    found: Found,
    model: Interface,
    probs: Probabilities,
    wish: wishes.Wish,
    given: npt.NDArray[np.int64] | None = None,
) -> bytes:
    """The whole answer."""
    said = orjson.dumps(predictions(model, probs, wish, given))
    tail = b"}" if given is None else b',"audited_as":"%b"}' % model.audits.encode()
    return _head(found.id, found.name, found.version, model.classes) + said + tail


@functools.lru_cache(256)
def _head(model_id: str, name: str, version: int, classes: tuple[str, ...]) -> bytes:
    """What every answer of a model begins with."""
    whole = {"model": model_id, "name": name, "version": version, "classes": classes, "predictions": []}
    return orjson.dumps(whole).removesuffix(b"[]}")


def predictions(
    model: Interface, probs: Probabilities, wish: wishes.Wish, given: npt.NDArray[np.int64] | None = None
) -> list[dict[str, Any]]:
    """One object a row."""
    classes, rows = model.classes, probs.tolist()  # plain: orjson takes three times as long for arrays
    fields: dict[str, list[Any]] = {}
    if "class" in wish.outputs:
        places = probs.argmax(1).tolist()
        fields["class"] = [classes[place] for place in places]
        fields["probability"] = [numbers[place] for numbers, place in zip(rows, places, strict=True)]
    if "probabilities" in wish.outputs and wish.top_k is None:
        fields["probabilities"] = rows
    elif "probabilities" in wish.outputs and wish.top_k is not None:
        order = verdicts.ranked(probs, wish.top_k).tolist()
        fields["top"] = [_top(classes, *pair) for pair in zip(rows, order, strict=True)]
    if "noisy_probabilities" in wish.outputs or given is not None:
        fields["noisy_probabilities"] = model.noisy_posterior(probs).tolist()
    if given is not None:
        fields["audit"] = _audits(model, probs, given)
    return [dict(zip(fields, row, strict=True)) for row in zip(*fields.values(), strict=True)]


def _top(classes: tuple[str, ...], numbers: list[float], order: list[int]) -> list[dict[str, Any]]:
    return [{"class": classes[place], "probability": numbers[place]} for place in order]


def _audits(model: Interface, probs: Probabilities, given: npt.NDArray[np.int64]) -> list[dict[str, Any]]:
    """P(the given label is wrong), and the class that the row has most likely."""
    found = verdicts.audit(model, probs, given)
    return [
        {
            "label": model.classes[label],
            "wrong": wrong,
            "likeliest": model.classes[likeliest],
            "probability": probability,
        }
        for label, wrong, likeliest, probability in zip(
            given.tolist(), *(numbers.tolist() for numbers in found), strict=True
        )
    ]


def npy(model: Interface, probs: Probabilities, wish: wishes.Wish) -> bytes:
    """One array (n, c): the probabilities, or those of noisy labels."""
    chosen = [name for name in wish.outputs if name != "class"]
    if wish.top_k is not None or len(chosen) != 1:
        detail = "an array holds either probabilities or noisy_probabilities, and no top_k"
        raise errors.Invalid(detail, errors=[{"parameter": "outputs", "code": "invalid", "detail": detail}])
    numbers = probs if chosen == ["probabilities"] else model.noisy_posterior(probs)
    return _npy_head(numbers.shape) + np.ascontiguousarray(numbers).tobytes()


@functools.lru_cache(256)
def _npy_head(shape: tuple[int, ...]) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        file, {"descr": "<f8", "fortran_order": False, "shape": tuple(shape)}
    )
    return file.getvalue()
