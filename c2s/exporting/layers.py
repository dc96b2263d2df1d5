"""Every layer and function of the nets as nodes of an ONNX graph; one that is not here cannot be exported."""

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, fx, nn
from torch.nn import functional

from c2s import errors
from c2s.exporting.graphs import Graph, Maps, Value
from c2s.nets import fused, text

Bag = tuple[str, str, str]  # indices, offsets, weights
Floats = npt.NDArray[np.float64]
PIECES = (fused.ConvNormPool, text.WordVectors)  # written as one
BLOCK = (
    16  # channels that the runtime computes at once: it fills up what is begun, so that 20 would cost as 32
)
CELL = ((0, 0), (0, 1), (1, 0), (1, 1))  # the points that a 2x2 pool takes the largest of


class Tracer(fx.Tracer):
    """Looks into our modules, but not into torch's."""

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        return isinstance(m, PIECES) or super().is_leaf_module(m, module_qualified_name)


def write(made: Graph, body: nn.Module, rows: Value | Bag) -> Value:
    """Add what the body computes from the rows; it is traced, so what it does must not depend on them."""
    known: dict[fx.Node, Any] = {}
    for node in Tracer().trace(body).nodes:
        args = fx.node.map_arg(node.args, known.__getitem__)
        match node.op:
            case "placeholder":
                known[node] = rows
            case "call_module":
                known[node] = layer(made, body.get_submodule(str(node.target)), args[0])
            case "call_function" | "call_method" if node.target in FUNCTIONS:
                known[node] = FUNCTIONS[node.target](made, *args, **node.kwargs)
            case "output":
                found: Value = args[0]
                return found
            case _:
                raise errors.InvalidModel(f"{node.target} has no ONNX form")
    raise errors.InvalidModel("the net computes nothing")


def layer(made: Graph, found: nn.Module, x: Any) -> Value:
    """A module: its weights become constants."""
    match found:
        case fused.ConvNormPool():
            return _conv_norm_pool(made, found, x)
        case text.WordVectors():
            return _bag(made, found.weight, x)
        case nn.Conv2d():
            return _conv(made, found, x, numbers(found.weight), _bias(found))
        case nn.Linear():
            return made.affine(x, numbers(found.weight), _bias(found))
        case nn.BatchNorm1d():
            scale, shift = _norm(found)
            return made.affine(x, np.diag(scale), shift)
        case nn.BatchNorm2d():
            parts = (found.weight, found.bias, _given(found.running_mean), _given(found.running_var))
            constants = [made.constant(numbers(part)) for part in parts]
            return made.add("BatchNormalization", x, *constants, epsilon=found.eps)
        case nn.ReLU() | nn.Softsign():
            return made.add("Relu" if isinstance(found, nn.ReLU) else "Softsign", x)
        case nn.Dropout():
            return x  # type: ignore[no-any-return]  # evaluation drops nothing
        case _:
            raise errors.InvalidModel(f"{type(found).__name__} has no ONNX form")


def numbers(tensor: Tensor) -> Floats:
    """A tensor as float64, so that joined layers lose no digits."""
    return tensor.detach().double().numpy()


def _given(tensor: Tensor | None) -> Tensor:
    if tensor is None:
        raise errors.InvalidModel("a norm without statistics has no ONNX form")
    return tensor


def _bias(found: nn.Conv2d | nn.Linear) -> Floats:
    return np.zeros(len(found.weight)) if found.bias is None else numbers(found.bias)


def _norm(found: nn.BatchNorm1d | nn.BatchNorm2d) -> tuple[Floats, Floats]:
    """The norm as a map a x + b of each channel."""
    scale = numbers(found.weight) / np.sqrt(numbers(_given(found.running_var)) + found.eps)
    return scale, numbers(found.bias) - numbers(_given(found.running_mean)) * scale


def _conv(
    made: Graph, found: nn.Conv2d, x: Value, weight: Floats, bias: Floats, *, stride: int | None = None
) -> str:
    if not isinstance(found.padding, tuple) or found.groups != 1 or found.padding_mode != "zeros":
        raise errors.InvalidModel("this convolution has no ONNX form")
    strides = list(found.stride) if stride is None else [stride, stride]
    sizes = {"strides": strides, "pads": [*found.padding, *found.padding]}
    if not isinstance(x, Maps):
        return made.add("Conv", x, made.constant(weight), made.constant(bias), **sizes)
    kernels = np.split(weight, np.cumsum(x.sizes)[:-1], axis=1)
    biases = [(made.constant(bias),), *(() for _ in kernels[1:])]
    terms = [
        made.add("Conv", part, made.constant(kernel), *once, **sizes)
        for part, kernel, once in zip(x.parts, kernels, biases, strict=True)
    ]
    return functools.reduce(lambda a, b: made.add("Add", a, b), terms)


def _conv_norm_pool(made: Graph, found: fused.ConvNormPool, x: Value) -> Value:
    """As the layer itself evaluates: the norm moves into the kernel. Maps that fill no block come in parts."""
    scale, shift = _norm(found.norm)
    kernel = numbers(found.conv.weight) * scale[:, None, None, None]
    bias = _bias(found.conv) * scale + shift
    whole = len(bias) - len(bias) % BLOCK
    rest = len(bias) - whole
    if not whole or not 0 < rest * len(CELL) <= BLOCK:
        return _pooled(made, _conv(made, found.conv, x, kernel, bias))
    full = _pooled(made, _conv(made, found.conv, x, kernel[:whole], bias[:whole]))
    return Maps((full, _cells(made, found.conv, x, kernel[whole:], bias[whole:])), (whole, rest))


def _pooled(made: Graph, raw: str) -> str:
    return made.add("MaxPool", made.add("Relu", raw), kernel_shape=[2, 2], strides=[2, 2])


def _cells(made: Graph, found: nn.Conv2d, x: Value, kernel: Floats, bias: Floats) -> str:
    """A few maps, each at the four points of a cell at once: together they fill a block that each would begin."""
    count, depth, height, width = kernel.shape
    moved = np.zeros((len(CELL), count, depth, height + 1, width + 1))
    for place, (down, right) in zip(moved, CELL, strict=True):
        place[:, :, down : down + height, right : right + width] = kernel
    flat = moved.reshape(-1, *moved.shape[2:])  # (4 maps, depth, 6, 6)
    raw = _conv(made, found, x, flat, np.tile(bias, len(CELL)), stride=2)
    return made.add("Max", *made.split(made.add("Relu", raw), len(CELL)))


def _bag(made: Graph, table: Tensor, bag: Bag) -> str:
    """The weighted sum of each bag's word vectors."""
    indices, offsets, weights = bag
    one, zero = made.constant(np.array([1])), made.constant(np.array([0]))
    vectors = made.add("Gather", made.constant(numbers(table)), indices)  # (entries, width)
    weighted = made.add("Mul", vectors, made.add("Unsqueeze", weights, one))
    # the row of an entry: how many bags begin at or before it, less one; a last bag that is empty begins at the end
    entries, rows = made.add("Shape", indices), made.add("Shape", offsets)
    room = made.add("Expand", zero, made.add("Add", entries, one))  # (entries + 1,)
    begun = made.add("Expand", one, rows)
    marks = made.add("ScatterND", room, made.add("Unsqueeze", offsets, one), begun, reduction="add")
    counts = made.add("CumSum", marks, made.constant(np.array(0)))
    row = made.add("Slice", made.add("Sub", counts, one), zero, entries)  # (entries,)
    size = made.add("Concat", rows, made.constant(np.array([table.shape[1]])), axis=0)
    empty = made.add("Expand", made.constant(np.zeros((1, 1))), size)  # (rows, width)
    return made.add("ScatterND", empty, made.add("Unsqueeze", row, one), weighted, reduction="add")


def _relu(made: Graph, x: Value, *, inplace: bool = False) -> str:
    return made.add("Relu", x)


def _max_pool(made: Graph, x: Value, size: int, stride: int | None = None, **more: Any) -> str:
    if more.keys() & {"ceil_mode", "dilation"} and (more.get("ceil_mode") or more.get("dilation", 1) != 1):
        raise errors.InvalidModel("this pooling has no ONNX form")
    step, padding = stride or size, more.get("padding", 0)
    return made.add("MaxPool", x, kernel_shape=[size] * 2, strides=[step] * 2, pads=[padding] * 4)


def _pad(
    made: Graph,
    x: Value,
    pads: tuple[int, int, int, int],
    *,
    mode: str = "constant",
    value: float | None = None,
) -> str:
    if mode != "constant" or value:
        raise errors.InvalidModel("this padding has no ONNX form")
    left, right, top, bottom = pads  # torch counts from the last axis, ONNX from the first
    return made.add("Pad", x, made.constant(np.array([0, 0, top, left, 0, 0, bottom, right])))


def _slice(made: Graph, x: Value, places: tuple[slice, ...]) -> str:
    """Every n-th point of the last axes, as `x[:, :, ::n, ::n]`."""
    if any(place.start is not None or place.stop is not None for place in places):
        raise errors.InvalidModel("this slice has no ONNX form")
    steps = np.array([place.step or 1 for place in places])
    bounds = np.zeros_like(steps), np.full_like(steps, np.iinfo(np.int64).max), np.arange(len(steps)), steps
    return made.add("Slice", x, *(made.constant(bound) for bound in bounds))


def _halfway(made: Graph, a: Value, b: Value, weight: float) -> str:
    if weight != 0.5:
        raise errors.InvalidModel("this mixture has no ONNX form")
    return made.add("Mul", made.add("Add", a, b), made.constant(np.array(weight)))


def _mean(made: Graph, x: Value, axes: tuple[int, ...]) -> str:
    return made.add("ReduceMean", x, made.constant(np.array(axes)), keepdims=0)


FUNCTIONS: dict[Any, Callable[..., Value]] = {
    functional.relu: _relu,
    functional.max_pool2d: _max_pool,
    functional.pad: _pad,
    torch.lerp: _halfway,
    torch.cat: lambda made, parts, axis: made.add("Concat", *parts, axis=axis),
    operator.add: lambda made, a, b: made.add("Add", a, b),
    operator.iadd: lambda made, a, b: made.add("Add", a, b),
    operator.getitem: _slice,
    "permute": lambda made, x, *axes: made.add("Transpose", x, perm=list(axes)),
    "flatten": lambda made, x, axis: made.add("Flatten", x, axis=axis),
    "mean": _mean,
}
