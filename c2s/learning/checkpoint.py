"""What survives the process: a model folder (weights, graph and card) and the state of a running phase.

Both appear whole. Weights are safetensors, facts are JSON; pickle is never read or written. The card rebuilds the
net, so serving a model needs nothing but its folder.
"""

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import safetensors
import safetensors.torch
from pydantic import TypeAdapter
from torch import Tensor, nn

from c2s import cards, config, errors, folders
from c2s.nets import choice
from c2s.shape import Shape

STATE, FACTS, SUMS = "state.safetensors", "facts.json", "sums.json"
EPOCHS_KEPT = 2
_net_config: TypeAdapter[config.NetConfig] = TypeAdapter(config.NetConfig)


class Saved(NamedTuple):
    """A state that is on the disk now."""

    phase: str
    epoch: int
    bytes: int


def unnoticed(saved: Saved) -> None:
    """A listener that does nothing."""


class PhaseFolder:
    """The states of one phase: folders `epoch-N`, `epoch-N-step-M` inside the next; the newest unharmed one counts."""

    def __init__(self, folder: Path, saved: Callable[[Saved], None] = unnoticed) -> None:
        self.folder = folder
        self._saved = saved

    def load(self) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
        """The newest state whose sums are right, if there is one; harmed ones are deleted, never used."""
        for folder in reversed(self._epochs()):
            if _unharmed(folder):
                return safetensors.torch.load_file(folder / STATE), folders.read_json(folder / FACTS)
            shutil.rmtree(folder)
        return None

    def save(self, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
        """Add the state after an epoch; the one before it stays, in case the disk harms this one."""
        epoch = len(facts["history"])
        name = f"epoch-{epoch:05d}" + (f"-step-{facts['step']:08d}" if "step" in facts else "")
        try:
            size = self._write(name, tensors, facts)
        except (OSError, safetensors.SafetensorError):
            self._drop(keep=1)  # a full disk: the oldest state is the one to spare
            size = self._write(name, tensors, facts)
        self._drop(keep=EPOCHS_KEPT)
        self._saved(Saved(self.folder.name, epoch, size))

    def _write(self, name: str, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> int:
        with folders.whole(self.folder / name) as part:
            safetensors.torch.save_file(_plain(tensors), part / STATE)
            folders.write_json(part / FACTS, facts)
            folders.write_json(part / SUMS, {name: folders.digest(part / name) for name in (STATE, FACTS)})
            return (part / STATE).stat().st_size

    def _drop(self, *, keep: int) -> None:
        for folder in self._epochs()[:-keep]:
            shutil.rmtree(folder)

    def _epochs(self) -> list[Path]:
        return sorted(path for path in self.folder.glob("epoch-*") if path.suffix != ".part")


def _unharmed(folder: Path) -> bool:
    """Whether every file is what was written; one without a sum is not."""
    try:
        sums = folders.read_json(folder / SUMS)
        return all(folders.digest(folder / name) == sums[name] for name in (STATE, FACTS))
    except (OSError, ValueError, KeyError, TypeError):
        return False


def save_model(folder: Path, net: nn.Module, card: Mapping[str, Any], graph: bytes | None = None) -> None:
    """Publish a model: the net's weights, the graph that serves it, and the card that explains and rebuilds it."""
    with folders.whole(folder) as part:
        weights = part / cards.WEIGHTS
        safetensors.torch.save_file(_plain(net.state_dict()), weights)
        sums: dict[str, Any] = {"format": cards.FORMAT, "sha256": folders.digest(weights)}
        if graph is not None:
            (part / cards.GRAPH).write_bytes(graph)
            sums["graph"] = {"sha256": folders.digest(part / cards.GRAPH)}
        folders.write_json(part / "card.json", {**sums, **card})


def add_graph(folder: Path, card: Mapping[str, Any], graph: bytes) -> None:
    """Give a model that was published without a graph its own; the card names it last, so that it is never half."""
    draft = folder / (cards.GRAPH + ".part")
    draft.write_bytes(graph)
    sums = {"graph": {"sha256": folders.digest(draft)}}
    draft.replace(folder / cards.GRAPH)
    renewed = folder / "card.json.part"
    folders.write_json(renewed, {**card, **sums})
    renewed.replace(folder / "card.json")


def load_model(folder: Path) -> tuple[nn.Module, dict[str, Any]]:
    """The net in evaluation mode and its card; an incomplete or altered folder is `InvalidModel`."""
    card = cards.load(folder)
    weights = folder / cards.WEIGHTS
    if not weights.is_file() or folders.digest(weights) != card["sha256"]:
        raise errors.InvalidModel(
            f"{folder.name}: the weights are missing or are not those the card describes"
        )
    net = choice.build(_net_config.validate_python(card["config"]["net"]), Shape(**card["shape"]))
    try:
        net.load_state_dict(safetensors.torch.load_file(weights))
    except (RuntimeError, safetensors.SafetensorError) as exc:
        raise errors.InvalidModel(
            f"{folder.name}: the weights do not fit the net that the card names"
        ) from exc
    return net.eval(), card


def read_weights(file: Path) -> dict[str, Tensor]:
    """The tensors of a safetensors file, such as a pretrained net; anything else is `InvalidModel`."""
    try:
        return safetensors.torch.load_file(file)
    except (OSError, safetensors.SafetensorError) as exc:
        raise errors.InvalidModel(f"{file.name}: cannot be read as safetensors") from exc


def _plain(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Tensors as safetensors takes them: contiguous, each with memory of its own."""
    return {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}
