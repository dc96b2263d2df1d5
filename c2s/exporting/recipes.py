"""The README of an archive: what is in it, and five lines of Python that use it. The tests run those lines."""

from typing import Any, Literal

from c2s.shape import Shape

ONNX = """\
import json, numpy, onnxruntime
card = json.load(open("card.json", encoding="utf-8"))
rows = {rows}
(probabilities,) = onnxruntime.InferenceSession("model.onnx").run(["probabilities"], rows)
print([card["labels"][place] for place in probabilities.argmax(axis=1)])"""
SAFETENSORS = """\
import json
from safetensors.numpy import load_file
card, weights = json.load(open("card.json", encoding="utf-8")), load_file("weights.safetensors")
print(card["config"]["net"], sum(array.size for array in weights.values()), "numbers")
print({name: array.shape for name, array in weights.items()})"""
NOISE = """\
import json, numpy
noise = json.load(open("noise-model.json", encoding="utf-8"))
T_c, clean = numpy.array(noise["T_c"]), numpy.array(noise["priors"]["clean"])  # rows clean, columns noisy
true_given_label = (clean[:, None] * T_c / numpy.maximum(clean @ T_c, 1e-12)).T  # row: the given label
print("wrong labels:", 1 - clean @ T_c.diagonal(), dict(zip(map(str, noise["classes"]), true_given_label.tolist())))"""
RAW = """\
from pathlib import Path
from c2s.runtime import Runtime
model = Runtime.load(Path("."), threads=1)
rows = model.interface.raw({rows})  # as your own file has them
print(model.session.probabilities(rows))"""
TEXTS = {
    "onnx": (
        "`model.onnx` takes rows as the dataset stores them and answers `logits` and `probabilities` of the clean"
        " classes, in the order of `labels` in `card.json`.",
        "numpy onnxruntime",
    ),
    "safetensors": (
        "`weights.safetensors` holds the weights of the net that `config.net` and `shape` in `card.json` describe.",
        "numpy safetensors",
    ),
    "noise-model": (
        "`noise-model.json` holds how the labels came to be wrong: `T_c` (rows clean, columns noisy), `T_s` with named"
        " fields (0 dissimilar, 1 similar), priors, noise rates and the estimator. cleanlab keeps `T_c` transposed.",
        "numpy",
    ),
}


def readme(card: dict[str, Any], form: Literal["onnx", "safetensors", "noise-model"], about: str) -> str:
    """What the archive's README says; `about` names the model in words of ours."""
    shape = Shape(**card["shape"])
    text, packages = TEXTS[form]
    code = {"onnx": ONNX.replace("{rows}", _rows(shape)), "safetensors": SAFETENSORS, "noise-model": NOISE}
    parts = [f"# {about}", text, f"In this folder, with `pip install {packages}`:", _block(code[form])]
    if form == "onnx" and (raw := _raw(card)) is not None:
        parts += ["Rows as you keep them, with the library `c2s`:", _block(RAW.replace("{rows}", raw))]
    parts.append(
        "`card.json` tells what the model was made from: config, classes, encoding, matrices, versions."
    )
    return "\n\n".join(parts) + "\n"


def _block(code: str) -> str:
    return f"```python\n{code}\n```"


def _rows(shape: Shape) -> str:
    """Two rows of the model's own shape, as Python writes them."""
    if shape.image is not None:
        return f'{{"pixels": numpy.zeros((2, {", ".join(map(str, shape.image))}), dtype=numpy.uint8)}}'
    if shape.kind == "text":
        bags = 'numpy.array([0, 0]), "offsets": numpy.array([0, 1])'
        return (
            f'{{"indices": {bags}, "weights": numpy.ones(2, dtype=numpy.float32)}}  # two texts of one term'
        )
    return f'{{"vectors": numpy.zeros((2, {shape.width}), dtype=numpy.float32)}}'


def _raw(card: dict[str, Any]) -> str | None:
    """Two raw rows, for models whose rows are encoded first; a table's column names are quoted, never run."""
    encoding = card["encoding"]
    if not encoding:
        return None
    if card["kind"] == "text":
        return repr(["a text", "another"])
    if card["kind"] == "tabular":
        return repr([{column["name"]: None for column in encoding["columns"]}] * 2)
    return None
