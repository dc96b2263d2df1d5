"""`c2s train FILE --label COLUMN`: from a file with wrong labels to a model folder, without any service."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from c2s import errors
from c2s.commands.plain import plain

if TYPE_CHECKING:  # the help of a command must not wait for schemas
    from c2s import config
    from c2s.reading import leftout, unused

SHOWN = 20  # rows left out that are named

METHODS = (  # as in c2s.config, which a test compares
    *("ce", "mcl", "forward", "reweight", "revision", "f-class2simi", "r-class2simi"),
    *("volmin", "prune", "prune-class2simi", "co-teaching", "jocor", "phuber-ce", "apl", "s2e", "auto"),
)
NETS = ("auto", "lenet", "lenet-5", "shake-shake-26", "resnet-56", "resnet-50", "mlp", "text")
ESTIMATORS = (
    "auto",
    "anchors",
    "mean-posterior",
    "dual-t",
    "confident-joint",
    "refined",
    "hoc",
    "volmin",
    "gold",
)


def add(commands: Any) -> None:
    """Add the command and its options."""
    command = commands.add_parser("train", help="train on a CSV, JSON lines, Parquet or NPZ file")
    command.add_argument("file", type=Path)
    command.add_argument("--label", required=True, help="the column (or NPZ array) with the noisy labels")
    command.add_argument("--text", help="the column with text, if it is not recognised")
    command.add_argument("--id", help="a column that names the rows")
    command.add_argument(
        "--gold", metavar="COLUMN", help="true labels, empty where not known (default: one named gold)"
    )
    command.add_argument("--drop", action="append", default=[], metavar="COLUMN", help="leave a column out")
    command.add_argument(
        "--word-vectors", type=Path, help="average these vectors instead of learning an embedding"
    )
    add_settings(command)
    command.add_argument(
        "--pretrained", type=Path, metavar="FILE", help="safetensors that resnet-50 starts from"
    )
    command.add_argument(
        "--config", type=Path, help="a JSON file with any of the settings; options win over it"
    )
    command.add_argument("--device", default="auto")
    command.add_argument(
        "--out", type=Path, default=Path("c2s-run"), help="the run's folder (default: c2s-run)"
    )
    command.set_defaults(run=run, resumes=True)


def add_settings(command: argparse.ArgumentParser) -> None:
    """The options of a training, here or in a service."""
    command.add_argument("--method", default=None, help=f"default: f-class2simi; of {', '.join(METHODS)}")
    command.add_argument("--net", default=None, help=f"default: by the rows; of {', '.join(NETS)}")
    command.add_argument(
        "--transition", default=None, metavar="ESTIMATOR|MATRIX.json", help=", ".join(ESTIMATORS)
    )
    command.add_argument("--epochs", type=int, nargs=2, metavar=("STAGE1", "STAGE2"), default=(None, None))
    command.add_argument("--seed", type=int, default=None)


def run(chosen: argparse.Namespace) -> None:
    """Train, show progress and the noise report, and say where the model is."""
    settings = settings_from(chosen)
    from rich.console import Console

    from c2s import pipeline
    from c2s.commands import display
    from c2s.reading import files

    console = Console()
    left_out: list[leftout.LeftOut] = []
    notes: list[str] = []
    left_columns: list[unused.Unused] = []
    dataset = files.read(
        chosen.file,
        label=chosen.label,
        text=chosen.text,
        id=chosen.id,
        gold=chosen.gold,
        drop=chosen.drop,
        word_vectors=chosen.word_vectors,
        left_out=left_out,
        notes=notes,
        left_columns=left_columns,
    )
    for line in (*_told(left_out, len(dataset)), *notes):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    console.print(f"{len(dataset)} rows of {dataset.kind}, {len(dataset.classes)} classes", highlight=False)
    for line in _unused(left_columns):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    with display.Bars(console) as bars:
        found = pipeline.run(
            dataset, settings, chosen.out, device=chosen.device, report=bars, pretrained=chosen.pretrained
        )
    display.show_noise(console, found, dataset.classes)
    console.print("model: ", end="")
    console.print(str(found.folder), markup=False, highlight=False, soft_wrap=True)


def _told(left_out: Sequence[leftout.LeftOut], kept: int) -> Iterator[str]:
    """Which rows of the file were left out, and why."""
    if left_out:
        yield f"{len(left_out)} of {kept + len(left_out)} rows cannot be used and are left out:"
        yield from (f"  {plain(one)}" for one in left_out[:SHOWN])
    if len(left_out) > SHOWN:
        yield f"  and {len(left_out) - SHOWN} more"


def _unused(columns: Sequence[unused.Unused]) -> Iterator[str]:
    """Which columns are not learnt from, why, and what would keep them."""
    from c2s.reading.unused import COMMAND

    for one in columns[:SHOWN]:
        keep = one.keep(COMMAND)
        yield plain(
            f"column {one.name!r} is not used: it {one.detail}" + (f" (to keep it: {keep})" if keep else "")
        )
    if len(columns) > SHOWN:
        yield f"and {len(columns) - SHOWN} more columns"


def settings_from(chosen: argparse.Namespace) -> config.TrainConfig:
    """The settings as a training here takes them."""
    from c2s import config

    return config.TrainConfig.parse(raw_settings(chosen, chosen.config))


def raw_settings(chosen: argparse.Namespace, file: Path | None) -> dict[str, Any]:
    """A file with the options laid over it."""
    raw: dict[str, Any] = _json(file) if file else {}
    if not isinstance(raw, dict):
        raise errors.InvalidConfig(f"{file}: a JSON object is needed")
    if chosen.seed is not None:
        raw["seed"] = chosen.seed
    for name in ("method", "net"):
        if getattr(chosen, name) is not None:
            _lay_over(raw, name, {"name": getattr(chosen, name)})
    for name, epochs in zip(("stage1", "stage2"), chosen.epochs, strict=True):
        if epochs is not None:
            _lay_over(raw, name, {"epochs": epochs})
    if chosen.transition in ESTIMATORS:
        _lay_over(raw, "transition", {"estimator": chosen.transition})
    elif chosen.transition is not None:
        raw["transition"] = {"matrix": _json(Path(chosen.transition))}
    return raw


def _lay_over(raw: dict[str, Any], name: str, options: dict[str, Any]) -> None:
    """Options win over the file's block; what the file says of another method or matrix goes."""
    block = raw.get(name)
    if isinstance(block, dict) and block.get("name") == options.get("name") and "matrix" not in block:
        options = block | options
    raw[name] = options


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as exc:
        raise errors.InvalidConfig(f"{path}: cannot be read ({exc.strerror})") from exc
    except ValueError as exc:
        raise errors.InvalidConfig(f"{path}: not JSON ({exc})") from exc
