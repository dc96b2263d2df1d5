"""A model as a zip that its owner carries away: one file, the card, and a README with five lines that use it.

Entries have names of ours, one fixed time and no compression, so the same model gives the same bytes everywhere.
"""

import hashlib
import io
import json
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np

from c2s import cards, errors
from c2s.exporting import recipes

Form = Literal["onnx", "safetensors", "noise-model"]
NOISE = "noise-model.json"
LAYOUT = b"c2s-archive-1"  # raised when the same entries are laid out in other bytes
EPOCH = (1980, 1, 1, 0, 0, 0)
BLOCK = 2**20


@dataclass(frozen=True)
class Entry:
    """One file of an archive, open and checked."""

    name: str
    file: BinaryIO
    bytes: int
    sha256: str


def entries(folder: Path, form: Form, about: str) -> list[Entry]:
    """What the archive of a model folder holds; a damaged file is `InvalidModel`, a missing graph `NotExported`."""
    card = cards.load(folder)
    readme = _made("README.md", recipes.readme(card, form, about).encode())
    described = _made("card.json", _read(folder / "card.json"))
    match form:
        case "onnx":
            if "graph" not in card:
                raise errors.NotExported(f"{folder.name}: was published without a graph")
            return [readme, described, _kept(folder / cards.GRAPH, card["graph"]["sha256"])]
        case "safetensors":
            return [readme, described, _kept(folder / cards.WEIGHTS, card["sha256"])]
        case "noise-model":
            told = json.dumps(noise_model(card), indent=1, allow_nan=False, ensure_ascii=False)
            return [readme, described, _made(NOISE, f"{told}\n".encode())]


def noise_model(card: dict[str, Any]) -> dict[str, Any]:
    """How the labels came to be wrong, with all that is needed to read it; `similarity` is T_s."""
    found = card["transition"]
    clean, T_c = np.array(found["priors"]), np.array(found["matrix"])
    return {
        "format": "c2s-noise-model-1",
        "orientation": found["orientation"],
        "reads": "T_c[i][j] = P(given label = classes[j] | true class = classes[i]): rows clean, columns noisy",
        "classes": card["labels"],
        "priors": {"clean": clean.tolist(), "noisy": (clean @ T_c).tolist()},
        "estimator": found["estimator"],
        "T_c": found["matrix"],
        "as_given": found.get("as_given"),  # T_c of the labels as they came, where T_c is of labels put right
        "T_s": found["similarity"],  # t01 = P(given similar | truly dissimilar)
        "noise_rate": found["noise_rate"],
        "reduces_noise": found["reduces_noise"],
        "learnability": found["learnability"],
        "weights_sha256": card["sha256"],
    }


def tag(chosen: Sequence[Entry]) -> str:
    """A name for the bytes that the archive will have."""
    facts = [LAYOUT, *(f"{entry.name} {entry.bytes} {entry.sha256}".encode() for entry in chosen)]
    return hashlib.sha256(b"\n".join(facts)).hexdigest()[:32]


def chunks(chosen: Sequence[Entry]) -> Iterator[bytes]:
    """The archive, a block at a time; closes the files."""
    sink = _Sink()
    try:
        with zipfile.ZipFile(sink, "w") as archive:  # type: ignore[call-overload]
            for entry in chosen:
                info = zipfile.ZipInfo(entry.name, EPOCH)
                info.create_system, info.external_attr = 3, 0o644 << 16
                info.file_size = entry.bytes
                with archive.open(info, "w") as target:
                    while block := entry.file.read(BLOCK):
                        target.write(block)
                        yield sink.taken()
        yield sink.taken()
    finally:
        close(chosen)


def close(chosen: Sequence[Entry]) -> None:
    """Let the files go."""
    for entry in chosen:
        entry.file.close()


class _Sink:
    """What an archive is written to when it cannot go back in it."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def write(self, part: bytes) -> int:
        self._parts.append(bytes(part))
        return len(part)

    def flush(self) -> None:
        """Nothing is held back."""

    def taken(self) -> bytes:
        parts, self._parts = self._parts, []
        return b"".join(parts)


def _made(name: str, content: bytes) -> Entry:
    return Entry(name, io.BytesIO(content), len(content), hashlib.sha256(content).hexdigest())


def _read(path: Path) -> bytes:
    with _open(path) as file:
        return file.read()


def _open(path: Path) -> io.BufferedReader:
    try:
        return path.open("rb")
    except FileNotFoundError as exc:  # deleted since it was looked up
        raise errors.InvalidModel(f"{path.name} is gone") from exc


def _kept(path: Path, sha256: str) -> Entry:
    """A file of the folder, read once to see that it is what the card describes; it stays open, so it stays."""
    file = _open(path)
    if hashlib.file_digest(file, "sha256").hexdigest() != sha256:
        file.close()
        raise errors.InvalidModel(f"{path.name} is not what the card describes")
    size = file.tell()
    file.seek(0)
    return Entry(path.name, file, size, sha256)
