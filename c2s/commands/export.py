"""`c2s export MODEL`: a model as an archive to carry away; without `--format`, the graph that an old one lacks."""

import argparse
import sys
from pathlib import Path
from typing import Any


def add(commands: Any) -> None:
    """Add the command and its options."""
    command = commands.add_parser("export", help="a model as a zip, or the ONNX graph that an old one lacks")
    command.add_argument("model", type=Path, help="a model folder, or the run folder it is in")
    command.add_argument("--format", choices=("onnx", "safetensors", "noise-model"), help="write such a zip")
    command.add_argument("--out", type=Path, help="where to; default: FORMAT.zip here")
    command.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> None:
    """Write the archive, or add the graph unless it is there."""
    from c2s.commands import predict

    folder = predict.folder_of(chosen.model)
    if chosen.format is None:
        _complete(folder)
    else:
        _pack(folder, chosen.format, chosen.out or Path(f"{chosen.format}.zip"))


def _pack(folder: Path, form: Any, target: Path) -> None:
    from c2s.exporting import archives

    entries = archives.entries(folder, form, "c2s model")
    with target.open("wb") as file:
        file.writelines(archives.chunks(entries))
    sys.stdout.write(f"{target}: {target.stat().st_size} bytes\n")


def _complete(folder: Path) -> None:
    from c2s.exporting import export
    from c2s.learning import checkpoint
    from c2s.shape import Shape

    net, card = checkpoint.load_model(folder)
    if "graph" in card:
        sys.stdout.write(f"{folder}: has its graph\n")
        return
    shape = Shape(**card["shape"])
    graph = export.checked(net, shape, tuple(card["labels"]), export.specimens(net, shape))
    checkpoint.add_graph(folder, card, graph)
    sys.stdout.write(f"{folder}: {len(graph)} bytes\n")
