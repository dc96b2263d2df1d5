"""Fills in what a config leaves to the data: net, epochs, batch size, and whose posteriors estimate T."""

import math

from c2s import config
from c2s.nets import shape

BATCH = 128  # the authors' value for MNIST
SIMILAR_PAIRS = 50  # per batch, below which pair losses see too few similar ones
STEPS = {"stage1": 1600, "stage2": 2000}  # four and five epochs of MNIST, where both were measured to suffice
FEWEST = {"stage1": 4, "stage2": 5}
MOST_EPOCHS = 40
CROSS_FIT_ROWS = 20_000  # up to here a net can learn the labels by heart, and K trainings are affordable
CROSS_FIT_IMAGES = 5_000


def resolve(chosen: config.TrainConfig, about: shape.Shape, rows: int) -> config.TrainConfig:
    """The config with nothing left open."""
    net = shape.auto(about) if isinstance(chosen.net, config.AutoNet) else chosen.net
    training_rows = max(2, round(rows * (1 - chosen.validation)))
    stage1 = _stage("stage1", chosen.stage1, about.classes, training_rows)
    stage2 = _stage("stage2", chosen.stage2, about.classes, training_rows)
    transition = chosen.transition
    if isinstance(transition, config.Estimate):
        transition = _estimate(transition, stage1, about, rows)
    update = {"net": net, "stage1": stage1, "stage2": stage2, "transition": transition}
    return chosen.model_copy(update=update)


def _stage(name: str, stage: config.Stage, classes: int, rows: int) -> config.Stage:
    size = stage.batch_size or _batch_size(classes, rows)
    steps = math.ceil(rows / size)
    epochs = stage.epochs or min(MOST_EPOCHS, max(FEWEST[name], math.ceil(STEPS[name] / steps)))
    return stage.model_copy(update={"batch_size": size, "epochs": epochs})


def _batch_size(classes: int, rows: int) -> int:
    wanted = max(BATCH, math.ceil(math.sqrt(2 * SIMILAR_PAIRS * classes)))
    return max(2, min(wanted, rows // 8))  # small data still takes several steps an epoch


def _estimate(
    chosen: config.Estimate, stage1: config.Stage, about: shape.Shape, rows: int
) -> config.Estimate:
    posteriors = chosen.posteriors
    if posteriors == "auto":
        limit = CROSS_FIT_IMAGES if about.kind == "image" else CROSS_FIT_ROWS
        posteriors = "k-fold" if rows <= limit else "in-sample"
    return chosen.model_copy(update={"posteriors": posteriors, "epochs": chosen.epochs or stage1.epochs})
