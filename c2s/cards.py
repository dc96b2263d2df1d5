"""The card of a model: everything about it but its weights, as plain data; loads without torch."""

from pathlib import Path
from typing import Any

from c2s import errors, folders

FORMAT = 1
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
