"""Tensors of the Open Inference Protocol v2, as JSON or as the binary tensor extension has them.

A binary body is a JSON head, whose length the header `Inference-Header-Content-Length` says, and behind it the bytes
of its tensors in their order; a BYTES element is its length in four bytes and then itself.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from app.api import strict
from app.core import errors

HEAD = "Inference-Header-Content-Length"
TYPES = {
    "BOOL": np.dtype("?"),
    **{f"UINT{bits}": np.dtype(f"<u{bits // 8}") for bits in (8, 16, 32, 64)},
    **{f"INT{bits}": np.dtype(f"<i{bits // 8}") for bits in (8, 16, 32, 64)},
    **{f"FP{bits}": np.dtype(f"<f{bits // 8}") for bits in (16, 32, 64)},
}
MOST = 2**24  # elements of a tensor
LENGTH = re.compile("[0-9]{1,19}")

Values = npt.NDArray[Any] | list[bytes]  # numbers of the tensor's shape, or its BYTES, flat


class Tensor:
    """An input that was sent."""

    def __init__(self, name: str, shape: tuple[int, ...], values: Values) -> None:
        self.name, self.shape, self.values = name, shape, values


def split(raw: bytes, length: str | None) -> tuple[dict[str, Any], memoryview]:
    """The JSON head of a body and the bytes behind it."""
    size = len(raw)
    if length is not None:
        size = int(length) if LENGTH.fullmatch(length) else len(raw) + 1
        if size > len(raw):
            raise errors.BadRequest(f"{HEAD} is not the length of a head in this body")
    head = strict.parse(raw[:size])
    if not isinstance(head, dict):
        raise errors.Invalid("an inference request is a JSON object")
    return head, memoryview(raw)[size:]


def read(head: Mapping[str, Any], rest: memoryview) -> dict[str, Tensor]:
    """The inputs of a request by name."""
    given = head.get("inputs")
    if not isinstance(given, list) or not given or not all(isinstance(one, dict) for one in given):
        raise errors.Invalid("inputs must be a list of tensors")
    found: dict[str, Tensor] = {}
    for one in given:
        tensor, rest = _tensor(one, rest)
        if tensor.name in found:
            raise errors.Invalid(f"input {tensor.name[:100]!r} comes twice")
        found[tensor.name] = tensor
    if len(rest):
        raise errors.Invalid(f"{len(rest)} bytes belong to no input")
    return found


def _tensor(one: Mapping[str, Any], rest: memoryview) -> tuple[Tensor, memoryview]:
    name, kind, shape = one.get("name"), one.get("datatype"), one.get("shape")
    if not isinstance(name, str) or not isinstance(kind, str) or not (kind == "BYTES" or kind in TYPES):
        raise errors.Invalid("an input needs a name and a known datatype")
    said = name[:100]
    if (
        not isinstance(shape, list)
        or not shape
        or not all(type(size) is int and 0 <= size <= MOST for size in shape)
    ):
        raise errors.Invalid(f"input {said!r} needs a shape of whole numbers")
    count = int(np.prod(shape, dtype=object))
    if count > MOST:
        raise errors.Invalid(f"input {said!r} has more than {MOST} elements")
    size = parameters(one).get("binary_data_size")
    if size is None:
        return Tensor(name, tuple(shape), _listed(one, said, kind, shape, count)), rest
    if type(size) is not int or not 0 <= size <= len(rest):
        raise errors.Invalid(f"input {said!r}: binary_data_size is not the size of its bytes")
    values = _unpacked(rest[:size], said, kind, shape, count)
    return Tensor(name, tuple(shape), values), rest[size:]


def parameters(one: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a request, an input or an output says beside itself."""
    found = one.get("parameters")
    if found is not None and not isinstance(found, dict):
        raise errors.Invalid("parameters must be an object")
    return found or {}


def _listed(one: Mapping[str, Any], said: str, kind: str, shape: list[int], count: int) -> Values:
    """Values in JSON, nested or flat."""
    given = one.get("data")
    try:
        if kind != "BYTES":
            with np.errstate(over="raise"):
                return np.asarray(given, dtype=TYPES[kind]).reshape(shape)
        flat: list[object] = np.asarray(given, dtype=object).ravel().tolist()
    except (ValueError, TypeError, OverflowError, FloatingPointError) as exc:
        raise errors.Invalid(f"input {said!r}: data does not fit its shape and datatype") from exc
    if len(flat) != count or not all(isinstance(text, str) for text in flat):
        raise errors.Invalid(f"input {said!r}: data must be {count} strings")
    return [str(text).encode() for text in flat]


def _unpacked(raw: memoryview, said: str, kind: str, shape: list[int], count: int) -> Values:
    """Values behind the head."""
    if kind != "BYTES":
        if len(raw) != count * TYPES[kind].itemsize:
            raise errors.Invalid(f"input {said!r}: {len(raw)} bytes are not {count} elements of {kind}")
        return np.frombuffer(raw, TYPES[kind]).reshape(shape)
    found: list[bytes] = []
    start = 0
    while start + 4 <= len(raw) and len(found) < count:
        stop = start + 4 + int.from_bytes(raw[start : start + 4], "little")
        found.append(bytes(raw[start + 4 : stop]))
        start = stop
    if len(found) != count or start != len(raw):
        raise errors.Invalid(f"input {said!r}: its bytes are not {count} elements, each behind its length")
    return found


def write(
    head: dict[str, Any], outputs: Mapping[str, npt.NDArray[Any] | Sequence[str]], binary: Mapping[str, bool]
) -> tuple[bytes, int | None]:
    """The body of an answer, and the length of its head if bytes follow it."""
    said, behind = [], []
    for name, values in outputs.items():
        is_text = not isinstance(values, np.ndarray)
        shape = [len(values)] if not isinstance(values, np.ndarray) else list(values.shape)
        one: dict[str, Any] = {"name": name, "datatype": "BYTES" if is_text else "FP32", "shape": shape}
        if binary[name]:
            packed = values.tobytes() if isinstance(values, np.ndarray) else _packed(values)
            one["parameters"] = {"binary_data_size": len(packed)}
            behind.append(packed)
        else:
            one["data"] = values.ravel() if isinstance(values, np.ndarray) else list(values)
        said.append(one)
    text = orjson.dumps({**head, "outputs": said}, option=orjson.OPT_SERIALIZE_NUMPY)
    return b"".join([text, *behind]), len(text) if behind else None


def _packed(texts: Sequence[str]) -> bytes:
    blobs = [text.encode() for text in texts]
    return b"".join(len(blob).to_bytes(4, "little") + blob for blob in blobs)
