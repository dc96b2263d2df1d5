"""What survives the process: a model folder (weights.safetensors + card.json) and the state of a running phase.

Both appear whole. Weights are safetensors, facts are JSON; pickle is never read or written. The card rebuilds the
net, so serving a model needs nothing but its folder.
"""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
from pydantic import TypeAdapter
from torch import Tensor, nn

from c2s import cards, config, errors, folders
from c2s.nets import choice
from c2s.shape import Shape

_net_config: TypeAdapter[config.NetConfig] = TypeAdapter(config.NetConfig)


class PhaseFolder:
    """The epochs of one phase: `epoch-N` folders, of which the newest whole one counts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def load(self) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
        """The newest state, if there is one."""
        newest = self._epochs()[-1:]
        if not newest:
            return None
        tensors = safetensors.torch.load_file(newest[0] / "state.safetensors")
        return tensors, folders.read_json(newest[0] / "facts.json")

    def save(self, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
        """Add the state after an epoch and drop the one before it."""
        older = self._epochs()
        with folders.whole(self.folder / f"epoch-{len(facts['history']):05d}") as part:
            safetensors.torch.save_file(_plain(tensors), part / "state.safetensors")
            folders.write_json(part / "facts.json", facts)
        for folder in older:
            shutil.rmtree(folder)

    def _epochs(self) -> list[Path]:
        return sorted(path for path in self.folder.glob("epoch-*") if path.suffix != ".part")


def save_model(folder: Path, net: nn.Module, card: Mapping[str, Any]) -> None:
    """Publish a model: the net's weights and the card that explains and rebuilds it."""
    with folders.whole(folder) as part:
        weights = part / "weights.safetensors"
        safetensors.torch.save_file(_plain(net.state_dict()), weights)
        folders.write_json(
            part / "card.json", {"format": cards.FORMAT, "sha256": folders.digest(weights), **card}
        )


def load_model(folder: Path) -> tuple[nn.Module, dict[str, Any]]:
    """The net in evaluation mode and its card; an incomplete or altered folder is `InvalidModel`."""
    card = cards.load(folder)
    weights = folder / "weights.safetensors"
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
