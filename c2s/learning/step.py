"""One step of the loop: a batch in, all that training changes moved by it, its loss out.

What composes with every method is here: augmentation, mixup, early-learning regularisation, clipping, averaging.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from c2s import streams
from c2s.learning import batches, precision, schedule
from c2s.learning.phase import Phase
from c2s.learning.trainee import Trainee
from c2s.methods import losses
from c2s.methods.droprates import Moment

AVERAGE_STEPS = 4  # between moves of the weight average


@dataclass(frozen=True)
class Place:
    """Where in a phase a step is: the epoch, the number of the step, and the epoch's own draws."""

    moment: Moment
    step: int
    draws: torch.Generator


@dataclass(frozen=True)
class Mixture:
    """Row i is mixed with row `partner[i]` of the batch and keeps `share` of itself, half of it or more."""

    share: float
    partner: Tensor  # (b,)


def take(
    trainee: Trainee, source: batches.Source, rows: Tensor, *, targets: Tensor, phase: Phase, at: Place
) -> Tensor:
    """Move the net, the matrix and their averages by one batch; its loss stays on the device."""
    stage = phase.stage
    rows = rows.to(source.device)
    mixture = _mixture(phase, len(rows), at.step)
    x = _inputs(source, rows, phase, at, mixture)
    half = precision.halves(stage.precision, source.device)
    with torch.autocast(source.device.type, torch.bfloat16, enabled=half):
        logits = trainee.net(x)
    loss = _loss(phase, logits, targets[rows], trainee.T(at.moment), mixture)
    if stage.elr is not None:
        loss = loss + stage.elr.weight * _remember(trainee, rows, logits, stage.elr.momentum, mixture)
    for optimizer in trainee.optimizers:
        for parameter in optimizer.parameters:
            parameter.grad = None
    loss.backward()
    if stage.clip_norm is not None:
        nn.utils.clip_grad_norm_(trainee.net.parameters(), stage.clip_norm)
    trainee.optimizers[0].rate = schedule.rate_at(stage, at.step, phase.steps, phase.epochs)
    for optimizer in trainee.optimizers:
        optimizer.step()
    _average(trainee, phase, at.step)
    return loss.detach()


def _mixture(phase: Phase, count: int, step: int) -> Mixture | None:
    """Drawn from the step's own stream, so that a resumed run mixes alike."""
    if phase.stage.mixup is None:
        return None
    rng = streams.numpy(phase.seed, phase.name, "mixup", step)
    share = float(rng.beta(phase.stage.mixup, phase.stage.mixup))
    return Mixture(max(share, 1 - share), torch.from_numpy(rng.permutation(count)))


def _inputs(
    source: batches.Source, rows: Tensor, phase: Phase, at: Place, mixture: Mixture | None
) -> batches.Batch:
    x = source.gather(rows)
    if phase.stage.augment is not None and isinstance(x, Tensor) and x.ndim > 2:
        x = batches.augmented(x, phase.stage.augment, at.draws)
    if mixture is None:
        return x
    partner = mixture.partner.to(rows.device)
    other = x[partner] if isinstance(x, Tensor) else source.gather(rows[partner])
    return batches.mixed(x, other, mixture.share)


def _loss(phase: Phase, logits: Tensor, y: Tensor, T: Tensor, mixture: Mixture | None) -> Tensor:
    """The method's loss, of a mixed batch under both labels by their shares (Zhang et al. 2018)."""
    loss = phase.method.loss(logits, y, T)
    if mixture is None:
        return loss
    others = y[mixture.partner.to(y.device)]
    return mixture.share * loss + (1 - mixture.share) * phase.method.loss(logits, others, T)


def _remember(
    trainee: Trainee, rows: Tensor, logits: Tensor, momentum: float, mixture: Mixture | None
) -> Tensor:
    """Move what is remembered of these rows, and say how far the net is from it."""
    probs = logits.float().softmax(-1).reshape(-1, len(rows), logits.shape[-1])  # (nets, b, c)
    memory = trainee.memory[:, rows].lerp(probs.detach(), 1 - momentum)  # (nets, b, c)
    trainee.memory[:, rows] = memory
    if mixture is not None:
        memory = mixture.share * memory + (1 - mixture.share) * memory[:, mixture.partner.to(rows.device)]
    return losses.early_learning(probs, memory)


def _average(trainee: Trainee, phase: Phase, step: int) -> None:
    """Move the weight average every few steps and at an epoch's end: it changes slowly, and costs memory traffic."""
    since = step % phase.steps % AVERAGE_STEPS + 1
    due = since == AVERAGE_STEPS or (step + 1) % phase.steps == 0
    if phase.stage.ema is not None and due:
        decay = min(phase.stage.ema, (1 + step) / (10 + step))  # young averages forget their start faster
        trainee.follow(decay**since)
