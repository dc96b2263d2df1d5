"""What one run works with: its rows on the device, its split, its folder, and a `fit` that resumes."""

import contextlib
import copy
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from c2s import config, data, defaults, errors, folders, naming, splits, streams
from c2s.config import Stage
from c2s.judging import merging, testimony
from c2s.learning import batches, checkpoint, training
from c2s.learning.phase import Phase
from c2s.matrix import transition
from c2s.methods.method import LEFT_OUT, Evidence, Method, of_every_class
from c2s.nets import choice, inputs

Step = Literal["stage1", "transition", "stage2", "evaluation", "packaging"]  # of Algorithm 1

FEWEST = 2  # rows of a training: batch norm and pairs both need two


@dataclass(frozen=True)
class Listener:
    """Whom a run tells that a step begins, what stage 1 found, that a state is on the disk; each may raise to stop."""

    step: Callable[[Step], None] = lambda step: None
    found: Callable[[dict[str, Any]], None] = lambda found: None
    saved: Callable[[checkpoint.Saved], None] = checkpoint.unnoticed


@dataclass
class Workbench:
    dataset: data.Dataset
    config: config.TrainConfig  # resolved
    folder: Path
    device: torch.device
    report: training.Report
    probe: training.Probe | None
    train: data.Labels  # row numbers
    holdout: data.Labels
    fair: data.Labels  # of the rows held out those drawn at random: gold ones were chosen by somebody
    source: batches.Source
    came: data.Dataset  # before classes were merged; else the same
    backbone: dict[str, Tensor] | None = None  # pretrained weights that every fresh net starts from
    listener: Listener = field(default_factory=Listener)
    history: list[dict[str, Any]] = field(default_factory=list)

    def fresh_net(self, *stream: str | int) -> nn.Module:
        """A net with new weights, which depend on the seed and the stream's name alone."""
        with torch.random.fork_rng():
            torch.manual_seed(streams.derive(self.config.seed, "init", *stream))
            net = choice.build_for(self.config.net, self.dataset, self.train)
        if self.backbone is not None:
            choice.start_from(net, self.backbone)
        return net

    def taught(self, method: Method, evidence: Evidence, rows: data.Labels | None = None) -> data.Labels:
        """Of the training rows, or of these, those that the method does not leave out."""
        chosen = self.train if rows is None else rows
        found: data.Labels = chosen[self._targets(method, evidence, chosen)[chosen] != LEFT_OUT]
        return found

    def _targets(self, method: Method, evidence: Evidence, rows: data.Labels) -> data.Labels:
        return of_every_class(method.targets(evidence), evidence.y, rows)

    def fit(
        self,
        name: str,
        method: Method,
        net: nn.Module,
        *,
        stage: Stage,
        evidence: Evidence,
        rows: data.Labels | None = None,
    ) -> training.Fitted:
        """Train a copy of `net` through a phase, from where an earlier attempt left it."""
        targets = self._targets(method, evidence, self.train if rows is None else rows)
        chosen = self.taught(method, evidence, rows)
        if len(chosen) < FEWEST:
            raise errors.InvalidDataset(
                f"too few rows: {len(chosen)} left to train on in {name}, {FEWEST} are needed"
            )
        wanted = Phase(
            name=name,
            stage=stage,
            method=method,
            targets=targets,
            rows=chosen,
            holdout=self.holdout,
            y=self.dataset.y,
            seed=self.config.seed,
        )
        fitted = training.fit(
            copy.deepcopy(net),
            self.source,
            wanted,
            T=method.transition(evidence),
            keep=checkpoint.PhaseFolder(self.folder / name, self.listener.saved),
            report=self.report,
            probe=self.probe if rows is None else None,
        )
        self.history += fitted.history
        return fitted


def open_bench(
    dataset: data.Dataset,
    chosen: config.TrainConfig,
    folder: Path,
    *,
    device: str,
    report: training.Report,
    probe: training.Probe | None,
    pretrained: Path | None = None,
    listener: Listener | None = None,
) -> Workbench:
    """Lay out the run, its classes merged; a folder with another run's work in it is refused."""
    came, dataset = dataset, merging.merged(dataset, chosen.merge)
    resolved = defaults.resolve(chosen, dataset.shape, len(dataset))
    _check_given(resolved, merging.named(came.classes, resolved.merge))
    if isinstance(resolved.transition, config.Estimate) and resolved.transition.estimator == "gold":
        testimony.require_matrix(dataset)
    backbone = None if pretrained is None else checkpoint.read_weights(pretrained)
    where = torch.device(pick_device(device))
    run = {"config": resolved.model_dump(mode="json"), "dataset": dataset.digest()}
    _claim(folder, run | {"pretrained": folders.digest(pretrained) if pretrained else None})
    drawn, fair = splits.split(dataset.y, resolved.validation, seed=resolved.seed)
    train, holdout = testimony.spare(dataset, drawn, fair)
    _check_reach(dataset, train)
    source = batches.Source(dataset.x, where)
    told = listener or Listener()
    return Workbench(
        dataset, resolved, folder, where, report, probe, train, holdout, fair, source, came, backbone, told
    )


def pick_device(wanted: str) -> str:
    """`auto` is the GPU where there is one; a device that cannot be used is refused."""
    if wanted == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.ones(1, device=wanted).item()
    except (RuntimeError, AssertionError, NotImplementedError) as exc:
        raise errors.InvalidConfig(f"device {wanted!r} cannot be used here") from exc
    return wanted


def no_evidence(dataset: data.Dataset) -> Evidence:
    """What is known before stage 1: the labels, taken as true."""
    c = len(dataset.labels)
    return Evidence(dataset.y, np.eye(c), np.full(c, 1 / c), np.zeros(len(dataset), dtype=bool))


def _check_given(chosen: config.TrainConfig, names: naming.Naming) -> None:
    if isinstance(chosen.transition, config.Given):
        given = len(transition.check(chosen.transition.matrix))
        if given != len(names.classes):
            raise errors.InvalidTransition(
                f"the matrix is for {given} classes, the dataset has {names.counted()}"
            )


def _check_reach(dataset: data.Dataset, train: data.Labels) -> None:
    """Refuse vectors of which a row that is not trained on would leave float32 inside every net."""
    if not isinstance(dataset.x, np.ndarray) or dataset.kind == "image":
        return
    if (found := inputs.stray(dataset.x, train)) is not None:
        row, column = found
        names = dataset.encoding.get("columns") if dataset.kind == "vectors" else None
        name = names[column] if names else column
        said = f"column {name!r}, row {row}: the number is too far from the training rows for float32"
        raise errors.InvalidDataset(said, field=name)


def _claim(folder: Path, run: dict[str, Any]) -> None:
    marker = folder / "run"
    if marker.exists():
        found = _as_of_now(folders.read_json(marker / "run.json"))
        if found == run:
            return
        if any(folder.glob("*/epoch-*")):  # a run that never trained leaves nothing to protect
            raise errors.InvalidConfig(
                f"{folder.name} holds another run ({_difference(found, run)}): choose another folder"
            )
        shutil.rmtree(marker)
    with folders.whole(marker) as part:
        folders.write_json(part / "run.json", run)


def _as_of_now(run: dict[str, Any]) -> dict[str, Any]:
    """A run that older source began: settings which it did not know yet are what they are by default."""
    with contextlib.suppress(errors.InvalidConfig):
        return run | {"config": config.TrainConfig.parse(run["config"]).model_dump(mode="json")}
    return run


def _difference(found: dict[str, Any], run: dict[str, Any]) -> str:
    """Which parts of two runs differ."""
    if found["dataset"] != run["dataset"]:
        return "on other data"
    names = [name for name, value in run["config"].items() if found["config"].get(name) != value]
    return f"with another {', '.join(names)}" if names else "from other pretrained weights"
