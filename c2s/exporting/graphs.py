"""An ONNX graph in the making: nodes are added in order, each call gives the name of what the node computes.

Affine maps that follow each other (a linear layer, its batch norm, the next linear layer) are kept back and joined,
in float64, as long as one map costs less than the two. Feature maps may come in parts, which convolutions read one
by one.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper, numpy_helper

OPSET = 18
IR = 9  # what runtimes of the last years read
Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Affine:
    """W x + b that no node computes yet."""

    x: str
    W: npt.NDArray[np.float64]  # (out, in)
    b: npt.NDArray[np.float64]  # (out,)

    def then(self, W: npt.NDArray[np.float64], b: npt.NDArray[np.float64]) -> "Affine":
        """The map followed by another."""
        return Affine(self.x, W @ self.W, W @ self.b + b)

    def cheaper_joined(self, W: npt.NDArray[np.float64]) -> bool:
        """Whether one map costs no more than this one and W after it."""
        return bool(len(W) * self.W.shape[1] <= self.W.size + W.size)


@dataclass(frozen=True)
class Maps:
    """Feature maps in parts along their channels."""

    parts: tuple[str, ...]
    sizes: tuple[int, ...]  # channels of each


Value = str | Affine | Maps


class Graph:
    """Nodes and constants; `model` makes a file of them."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.inputs: list[onnx.ValueInfoProto] = []
        self.outputs: list[onnx.ValueInfoProto] = []

    def input(self, name: str, dtype: type[np.generic], shape: tuple[str | int, ...]) -> str:
        """An input of the graph."""
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def output(self, value: Value, name: str, shape: tuple[str | int, ...]) -> None:
        """An output of the graph, in float32."""
        self.nodes.append(helper.make_node("Identity", [self.whole(value)], [name]))
        self.outputs.append(helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape))

    def constant(self, array: Array) -> str:
        """A constant; numbers of more digits become float32."""
        narrow = array.astype(np.float32) if array.dtype == np.float64 else array
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(narrow), name))
        return name

    def add(self, operator: str, *inputs: Value, **attributes: Any) -> str:
        """A node and the name of its only output."""
        names = [self.whole(value) for value in inputs]  # first: it may add nodes itself
        name = f"n{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, names, [name], **attributes))
        return name

    def split(self, x: Value, count: int) -> list[str]:
        """Feature maps in so many equal parts."""
        names = [f"n{len(self.nodes)}_{number}" for number in range(count)]
        self.nodes.append(helper.make_node("Split", [self.whole(x)], names, axis=1, num_outputs=count))
        return names

    def affine(self, x: Value, W: npt.NDArray[np.float64], b: npt.NDArray[np.float64]) -> Affine:
        """W x + b, joined with what gave x where that saves work."""
        if isinstance(x, Affine) and x.cheaper_joined(W):
            return x.then(W, b)
        return Affine(self.whole(x), W, b)

    def whole(self, value: Value) -> str:
        """The name of a value; an affine map that was kept back is added now, and parts are joined."""
        match value:
            case Affine(x, W, b):
                return self.add("Gemm", x, self.constant(W.T), self.constant(b))
            case Maps(parts):
                return self.add("Concat", *parts, axis=1)
        return value

    def model(self, facts: dict[str, str]) -> bytes:
        """The graph as an ONNX file, with these facts about it."""
        graph = helper.make_graph(self.nodes, "c2s", self.inputs, self.outputs, self.constants)
        opsets = [helper.make_opsetid("", OPSET)]
        made = helper.make_model(graph, opset_imports=opsets, ir_version=IR, producer_name="c2s")
        helper.set_model_props(made, facts)
        written: bytes = made.SerializeToString(deterministic=True)
        return written
