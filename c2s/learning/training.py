"""The one loop, for every stage and method.

Nothing here touches the disk: `fit` hands its state to `Keep` after an epoch, once a second at most, and at the batch
where `report` stops it; it takes the state up where `Keep` left it.
Every draw comes from a stream named by seed, phase and epoch, so a resumed run equals an uninterrupted one.
"""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from c2s import errors, streams
from c2s.learning import batches, evaluation, step
from c2s.learning.phase import Phase
from c2s.learning.record import Record
from c2s.learning.trainee import Trainee
from c2s.learning.underway import Underway
from c2s.methods.droprates import Moment
from c2s.methods.matrices import Matrix, TransitionModule

TICK_SECONDS = 2.0  # between reports inside an epoch
SAVE_SECONDS = 1.0  # between states kept: flushing one to the disk costs more than a short epoch


@dataclass(frozen=True)
class Progress:
    """Where a phase is: `epoch` of `epochs` are done, and `fraction` of the next one."""

    phase: str
    epoch: int
    epochs: int
    fraction: float = 0.0
    metrics: Mapping[str, float] = field(default_factory=dict)


Report = Callable[[Progress], None]  # may raise to stop
Probe = Callable[[nn.Module], Mapping[str, float]]


def quiet(progress: Progress) -> None:
    """A report that says nothing."""


class Keep(Protocol):
    """Where a phase's state survives the process."""

    def load(self) -> tuple[dict[str, Tensor], dict[str, Any]] | None: ...

    def save(self, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None: ...


class Forget:
    """Keeps nothing."""

    def load(self) -> None:
        return None

    def save(self, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
        return None


@dataclass
class Fitted:
    """The weights a phase keeps, the matrix that belongs to them, and every epoch's metrics."""

    phase: str
    net: nn.Module
    T_c: Matrix
    learnt: bool  # T_c was learnt in this phase
    history: list[dict[str, Any]]
    blind: npt.NDArray[np.int64] | None = None  # (n,)  gold rows that chose it, by nets that others chose


def fit(
    net: nn.Module,
    source: batches.Source,
    phase: Phase,
    *,
    T: TransitionModule,
    keep: Keep | None = None,
    report: Report = quiet,
    probe: Probe | None = None,
) -> Fitted:
    """Train `net` through a phase and leave in it the weights that noisy validation prefers."""
    keep = keep or Forget()
    trainee = Trainee(net.to(source.device), T.to(source.device), phase.stage, rows=len(source))
    record = Record(phase.name, phase.epochs, phase.stage, judges=len(phase.holdout))
    underway: Underway | None = None
    if saved := keep.load():
        trainee.restore(saved[0])
        record.restore(*saved)
        underway = Underway.restored(*saved)
    saved_at = time.monotonic()

    def pause(at: Underway) -> None:
        facts = {"history": record.history, "step": at.step}
        keep.save(trainee.tensors() | record.tensors() | at.tensors(), facts)

    while not record.ended:
        began, epoch = time.perf_counter(), len(record.history)
        loss = _epoch(trainee, source, phase, epoch=epoch, report=report, pause=pause, underway=underway)
        underway = None
        trainee.average.eval()
        metrics = {"loss": loss} | _judge(trainee, source, phase)
        if not all(map(math.isfinite, metrics.values())):
            raise errors.Diverged(phase.name, epoch + 1)
        metrics |= dict(probe(trainee.average) if probe else {})
        record.add(metrics, trainee, seconds=time.perf_counter() - began)
        due = record.ended or time.monotonic() - saved_at >= SAVE_SECONDS
        try:
            report(Progress(phase.name, epoch + 1, phase.epochs, metrics=metrics))
        except BaseException:
            due = True  # whoever stops the run between epochs loses none of them
            raise
        finally:
            if due:
                keep.save(trainee.tensors() | record.tensors(), {"history": record.history})
                saved_at = time.monotonic()
    record.leave_kept(trainee)
    T_c = trainee.T.class_matrix().double().cpu().numpy()
    learnt = T.learning_rate is not None
    return Fitted(phase.name, trainee.average.eval().requires_grad_(True), T_c, learnt, record.history)


def _epoch(
    trainee: Trainee,
    source: batches.Source,
    phase: Phase,
    *,
    epoch: int,
    report: Report,
    pause: Callable[[Underway], None],
    underway: Underway | None,
) -> float:
    """One pass over the rows, or the rest of one; the loss is read from the device once, at the end."""
    trainee.net.train()
    targets = torch.from_numpy(np.array(phase.targets)).to(source.device)
    rows = torch.from_numpy(np.array(phase.rows))
    draws = torch.Generator().manual_seed(streams.derive(phase.seed, phase.name, "batches", epoch))
    total = torch.zeros((), device=source.device) if underway is None else underway.total.to(source.device)
    told = time.monotonic()
    with torch.random.fork_rng():
        torch.manual_seed(streams.derive(phase.seed, phase.name, "net", epoch))  # dropout, shake-shake
        for number, batch in enumerate(batches.shuffled(rows, phase.batch_size, draws)):
            if underway is not None and number < underway.step:
                continue
            if underway is not None and number == underway.step:
                underway.resume(draws)
            at = step.Place(Moment(epoch, phase.epochs), epoch * phase.steps + number, draws)
            loss = step.take(trainee, source, batch, targets=targets, phase=phase, at=at)
            total += loss * len(batch)
            if time.monotonic() - told > TICK_SECONDS:
                try:
                    report(Progress(phase.name, epoch, phase.epochs, (number + 1) / phase.steps))
                except BaseException:
                    pause(Underway(number + 1, total, draws.get_state(), torch.get_rng_state()))
                    raise
                told = time.monotonic()
    return float(total) / len(rows)


def _judge(trainee: Trainee, source: batches.Source, phase: Phase) -> dict[str, float]:
    probs = evaluation.posterior(trainee.average, source, phase.holdout)
    T_c = trainee.T.class_matrix().double().cpu().numpy()
    return evaluation.judged(probs, T_c, phase.y[phase.holdout])
