"""A net as an ONNX graph that takes rows as the dataset stores them, so that serving needs no torch.

Inputs: `pixels` (rows, h, w, c) uint8, `vectors` (rows, d) float32, or a bag as `indices`, `offsets`, `weights`.
Outputs: `logits` and `probabilities`, (rows, classes) float32. Every operation that the nets use is written out here;
torch's own exporters need onnxscript and seconds, or are deprecated, and join no layers.
"""

import copy
import json

import numpy as np
import torch
from torch import nn

from c2s import data, errors, runtime
from c2s.exporting import layers
from c2s.exporting.graphs import Graph, Value
from c2s.exporting.layers import Bag, numbers
from c2s.learning import batches, evaluation
from c2s.nets import classifier, inputs
from c2s.shape import Shape

TOLERANCE = 1e-5  # of a probability
ROWS = "rows"


def graph(net: nn.Module, shape: Shape, labels: tuple[data.Label, ...]) -> bytes:
    """The net in evaluation mode as an ONNX file; a layer that has no form there is `InvalidModel`."""
    if not isinstance(net, classifier.Classifier):
        raise errors.InvalidModel(f"{type(net).__name__} is no classifier of ours and cannot be exported")
    still = copy.deepcopy(net).cpu().eval()
    made = Graph()
    logits = layers.write(made, still.body, _inputs(made, still.inputs, shape))
    made.output(logits, "logits", (ROWS, shape.classes))
    made.output(made.add("Softmax", "logits", axis=1), "probabilities", (ROWS, shape.classes))
    return made.model({"labels": json.dumps(list(labels)), "kind": shape.kind})


def checked(net: nn.Module, shape: Shape, labels: tuple[data.Label, ...], rows: data.Inputs) -> bytes:
    """The graph of a net, after it answered these rows as torch does to 1e-5; else `Unfaithful`."""
    made = graph(net, shape, labels)
    said = runtime.Session(made, threads=1).probabilities(rows)
    known = evaluation.posterior(copy.deepcopy(net).cpu(), batches.Source(rows, torch.device("cpu")))
    worst = float(np.abs(said - known).max(initial=0.0))
    if not worst <= TOLERANCE:  # NaN is a failure too
        raise errors.Unfaithful(f"the exported graph answers otherwise than the net: by up to {worst:.2g}")
    return made


def specimens(net: nn.Module, shape: Shape, count: int = 64) -> data.Inputs:
    """Rows drawn at random, for a model whose own are not at hand."""
    rng = np.random.default_rng(0)
    if shape.image is not None:
        return rng.integers(0, 256, (count, *shape.image), dtype=np.uint8)
    width = shape.width or 1
    if shape.kind == "text":
        bags = rng.integers(0, width, (count, 8))
        weights = np.full(bags.size, 8**-0.5, dtype=np.float32)
        return data.Bags(np.arange(0, bags.size + 1, 8), bags.ravel(), weights, width)
    scale = net.get_submodule("inputs")
    mean, std = numbers(scale.get_buffer("mean")), numbers(scale.get_buffer("std"))
    return (mean + std * rng.normal(size=(count, width))).astype(np.float32)


def _inputs(made: Graph, first: nn.Module, shape: Shape) -> Value | Bag:
    """The graph's inputs, and the rows on the scale that the body takes."""
    match first:
        case inputs.Pixels():
            pixels = made.input("pixels", np.uint8, (ROWS, *(shape.image or ())))
            mean, std = (numbers(moment)[:, None, None] for moment in (first.mean, first.std))  # (c, 1, 1)
            maps = made.add("Cast", made.add("Transpose", pixels, perm=[0, 3, 1, 2]), to=1)
            # in this order: a factor for each last entry of (b, h, w, c) costs the runtime ten times as much
            scaled = made.add("Mul", maps, made.constant(1 / (255 * std)))
            return made.add("Add", scaled, made.constant(-mean / std))
        case inputs.Scale():
            vectors = made.input("vectors", np.float32, (ROWS, shape.width or 0))
            centred = made.add("Sub", vectors, made.constant(numbers(first.mean)))
            return made.add("Div", centred, made.constant(numbers(first.std)))
        case inputs.Bags():
            indices = made.input("indices", np.int64, ("entries",))
            offsets = made.input("offsets", np.int64, (ROWS,))
            return indices, offsets, made.input("weights", np.float32, ("entries",))
        case _:
            raise errors.InvalidModel(f"{type(first).__name__} has no ONNX form")
