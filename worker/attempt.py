"""One attempt at a training, inside the trainer: the library's run, told to the supervisor as it goes."""

import shutil
from pathlib import Path
from typing import Any

import torch

from c2s import cards, checkpoint, config, data, errors, folders, pipeline, training, workbench
from worker import childhood, failures, plan

FEWEST_ROWS = 2  # of a batch: a pair needs two


class Stop(Exception):
    """The supervisor asked for an end."""


class Teller:
    """Turns what the library reports into messages, and the wish to stop into an exception."""

    def __init__(self, channel: childhood.Channel, chosen: config.TrainConfig) -> None:
        self.phase = "loading"
        self.stopping = False
        self._channel = channel
        self.plan, self._clock = plan.Plan(chosen), plan.Clock()
        self._facts: dict[str, Any] = {"epoch": 0, "epochs": 0, "metrics": {}}

    def step(self, phase: str) -> None:
        """A phase of the job begins."""
        self.phase = phase
        self._channel.say("phase", phase=phase)
        self._progress(self.plan.phase(phase))
        self._heed()

    def saved(self, saved: checkpoint.Saved) -> None:
        """A state is on the disk."""
        self._channel.say(
            "checkpoint", phase=self.phase, step=saved.phase, epoch=saved.epoch, bytes=saved.bytes
        )

    def report(self, progress: training.Progress) -> None:
        """Where a training of the pipeline is."""
        metrics = childhood.finite(dict(progress.metrics))
        if metrics:  # an epoch ended; reports on the way have none
            self._channel.say(
                "epoch",
                phase=self.phase,
                step=progress.phase,
                epoch=progress.epoch,
                epochs=progress.epochs,
                metrics=metrics,
            )
        done = (progress.epoch + progress.fraction) / progress.epochs
        self._facts |= {"epoch": progress.epoch, "epochs": progress.epochs}
        self._facts |= {"metrics": metrics} if metrics else {}
        self._progress(self.plan.training(progress.phase, done))
        self._heed()

    def finish(self) -> None:
        """The model is complete."""
        self._progress(1.0)
        self._channel.say("trained")

    def _progress(self, fraction: float) -> None:
        self._channel.say(
            "progress",
            fraction=fraction,
            phase=self.phase,
            **self._facts,
            eta_seconds=None if self.phase == "loading" else self._clock.left(fraction),
            elapsed_seconds=self._clock.elapsed,
        )

    def _heed(self) -> None:
        if self.stopping:
            raise Stop


def run(asked: dict[str, Any], teller: Teller, chosen: config.TrainConfig) -> None:
    """Train in the attempt's folder, from where earlier attempts left it."""
    torch.set_num_threads(asked["threads"])  # bits depend on it
    folder = Path(asked["run"])
    prepare(folder, chosen)
    teller.plan.take_up(folder)
    teller.step("loading")
    dataset = _dataset(Path(asked["dataset"]))
    if asked.get("sha256") not in (None, dataset.digest()):
        raise errors.InvalidDataset("the bytes of the dataset are not those that were uploaded")
    listener = workbench.Listener(step=teller.step, saved=teller.saved)
    pipeline.run(dataset, chosen, folder, device=asked["device"], report=teller.report, listener=listener)


def shrunk(chosen: config.TrainConfig, times: int) -> config.TrainConfig:
    """The config with its batches halved, for a job that ran out of memory."""
    stages = {}
    for name in ("stage1", "stage2"):
        stage: config.Stage = getattr(chosen, name)
        if stage.batch_size is not None:
            size = max(FEWEST_ROWS, stage.batch_size // 2**times)
            stages[name] = stage.model_copy(update={"batch_size": size})
    return chosen.model_copy(update=stages)


def prepare(folder: Path, chosen: config.TrainConfig) -> None:
    """Clear away what earlier attempts left that this one cannot go on from."""
    try:
        same = folders.read_json(folder / "run" / "run.json")["config"] == chosen.model_dump(mode="json")
    except (OSError, ValueError, KeyError, TypeError):
        same = False
    if not same:  # its batches were larger, or it never began
        shutil.rmtree(folder, ignore_errors=True)
    elif not whole(folder / "model"):
        shutil.rmtree(folder / "model", ignore_errors=True)


def whole(model: Path) -> bool:
    """Whether a model folder holds the weights that its card describes."""
    try:
        return bool(folders.digest(model / "weights.safetensors") == cards.load(model)["sha256"])
    except (OSError, errors.InvalidModel):
        return False


def _dataset(folder: Path) -> data.Dataset:
    try:
        return data.load(folder)
    except (OSError, ValueError, KeyError) as exc:
        if failures.classify(exc) != "internal":  # not the dataset's fault
            raise
        raise errors.InvalidDataset(f"the dataset cannot be opened: {type(exc).__name__}") from exc
