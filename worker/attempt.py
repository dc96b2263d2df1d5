"""One attempt at a training, inside the trainer: the library's run, told to the supervisor as it goes."""

import resource
import shutil
import time
from pathlib import Path
from typing import Any

import structlog
import torch

from app.core import tracing
from c2s import cards, config, data, errors, folders, pipeline, trainings
from c2s.judging import merging, testimony
from c2s.learning import checkpoint, training
from c2s.running import workbench
from worker import childhood, failures, plan

MANY_CLASSES, MOST_CLASSES = 100, 500  # told early without alternatives; not told early
FEWEST_ROWS = 2  # of a batch: a pair needs two
log = structlog.get_logger("c2s.trainer")


class Stop(Exception):
    """The supervisor asked for an end."""


class Teller:
    """Turns what the library reports into messages, and the wish to stop into an exception."""

    def __init__(self, channel: childhood.Channel) -> None:
        self.phase = "loading"
        self.stopping = False
        self._channel = channel
        self.plan, self._clock = plan.Plan(()), plan.Clock()  # how much there is to do, its rows will tell
        self._epoch_began = time.monotonic()
        self._end_phase = tracing.begin("loading")
        self._facts: dict[str, Any] = {"epoch": 0, "epochs": 0, "metrics": {}}

    def step(self, phase: str) -> None:
        """A phase of the job begins."""
        self.phase, self._epoch_began = phase, time.monotonic()
        self._channel.say("phase", phase=phase)
        log.info("phase", phase=phase)
        self.close()
        self._end_phase = tracing.begin(phase)
        self._progress(self.plan.phase(phase))
        self._heed()

    def saved(self, saved: checkpoint.Saved) -> None:
        """A state is on the disk."""
        self._channel.say(
            "checkpoint", phase=self.phase, step=saved.phase, epoch=saved.epoch, bytes=saved.bytes
        )

    def found(self, found: dict[str, Any]) -> None:
        """T is estimated; of very many classes only the end tells, as rows are no place for megabytes."""
        classes, known = len(found["labels"]), found["transition"]
        if classes > MANY_CLASSES:
            known = known | {"alternatives": {}}
        if classes <= MOST_CLASSES:
            self._channel.say("estimated", found=found | {"transition": known})

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
                cost=self._cost(),
            )
        done = (progress.epoch + progress.fraction) / progress.epochs
        self._facts |= {"epoch": progress.epoch, "epochs": progress.epochs}
        self._facts |= {"metrics": metrics} if metrics else {}
        self._progress(self.plan.training(progress.phase, done))
        self._heed()

    def close(self) -> None:
        """The phase is over."""
        self._end_phase()

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

    def _cost(self) -> dict[str, Any]:
        now, before = time.monotonic(), self._epoch_began
        self._epoch_began = now
        device, size = memory()
        return {"seconds": now - before, "device": device, "memory_bytes": size}

    def _heed(self) -> None:
        if self.stopping:
            raise Stop


def run(asked: dict[str, Any], teller: Teller, chosen: config.TrainConfig) -> None:
    """Train in the attempt's folder, from where earlier attempts left it."""
    torch.set_num_threads(asked["threads"])  # bits depend on it
    folder = Path(asked["run"])
    prepare(folder, chosen)
    dataset = _dataset(Path(asked["dataset"]))
    left = merging.merged(dataset, chosen.merge)
    spared = testimony.spared(left, chosen.validation, seed=chosen.seed)
    class_rows = merging.class_rows(left, ())
    teller.plan = plan.Plan(trainings.planned(chosen, class_rows, spared=spared, onward=True))
    teller.plan.take_up(folder)
    teller.step("loading")
    if asked.get("sha256") not in (None, dataset.digest()):
        raise errors.InvalidDataset("the bytes of the dataset are not those that were uploaded")
    listener = workbench.Listener(step=teller.step, found=teller.found, saved=teller.saved)
    pipeline.run(dataset, chosen, folder, device=asked["device"], report=teller.report, listener=listener)


def memory() -> tuple[str, int]:
    """Where the memory of this training is, and how much of it: a CPU's is what the process took at most."""
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        return f"cuda:{torch.cuda.current_device()}", torch.cuda.memory_reserved()
    return "cpu", 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


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
        for outcome in ("model", "result"):
            shutil.rmtree(folder / outcome, ignore_errors=True)


def whole(model: Path) -> bool:
    """Whether a model folder holds the weights and the graph that its card describes."""
    try:
        return "graph" in cards.verify(model)
    except (OSError, errors.InvalidModel):
        return False


def _dataset(folder: Path) -> data.Dataset:
    try:
        return data.load(folder)
    except (OSError, ValueError, KeyError) as exc:
        if failures.classify(exc) != "internal" or failures.passing(exc):  # not the dataset's fault
            raise
        raise errors.InvalidDataset(f"the dataset cannot be opened: {type(exc).__name__}") from exc
