"""The card of a model: everything about it but its weights, as plain data; loads without torch."""

from pathlib import Path
from typing import Any

from c2s import errors, folders

FORMAT = 1
WEIGHTS, GRAPH = "weights.safetensors", "model.onnx"
NEEDED = {"sha256", "config", "shape", "labels", "encoding", "transition", "notes"}


def load(folder: Path) -> dict[str, Any]:
    """The card of a model folder; one that is missing, incomplete or of another format is `InvalidModel`."""
    try:
        card: dict[str, Any] = folders.read_json(folder / "card.json")
    except (OSError, ValueError) as exc:
        raise errors.InvalidModel(f"{folder.resolve().name}: holds no finished model (card.json)") from exc
    kind = card.get("format") if isinstance(card, dict) else None
    if kind != FORMAT:
        raise errors.InvalidModel(f"{folder.resolve().name}: card format {kind}, this version reads {FORMAT}")
    if missing := sorted(NEEDED - card.keys()):
        raise errors.InvalidModel(f"{folder.resolve().name}: the card lacks {', '.join(missing)}")
    return card


def verify(folder: Path) -> dict[str, Any]:
    """The card of a model folder whose weights and graph are those that it describes; else `InvalidModel`."""
    card = load(folder)
    if _sum(folder / WEIGHTS) != card["sha256"]:
        raise errors.InvalidModel(
            f"{folder.resolve().name}: the weights are not those that the card describes"
        )
    if "graph" in card and _sum(folder / GRAPH) != card["graph"]["sha256"]:
        raise errors.InvalidModel(
            f"{folder.resolve().name}: the graph is not the one that the card describes"
        )
    return card


def _sum(path: Path) -> str | None:
    return folders.digest(path) if path.is_file() else None
