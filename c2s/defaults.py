"""Fills in what a config leaves to the data: net, epochs, batch size, and whose posteriors estimate T."""

import math

from c2s import config, members, shape, splits

BATCH = 128  # the authors' value for MNIST
SIMILAR_PAIRS = 50  # per batch, below which pair losses see too few similar ones
# Small data is seen more often, but not so often that its wrong labels are learnt by heart. Epochs of stage 1 and 2 for
# MNIST's 54,000 rows and for very few; measured on MNIST and on 1,257 digits, between them by a power of the rows.
EPOCHS = {"stage1": (4, 15), "stage2": (6, 25)}
FULL, POWER = 54_000, 0.35
ROUNDS, FEW_STEPS = 4, 200  # of stage 1 where it has so few steps that it may end before it knows the classes
FEW_HELD, FEW_HELD_A_CLASS = 10, 2  # rows held out, below which validation says nothing
CROSS_FIT_ROWS = 20_000  # up to here a net can learn the labels by heart, and K trainings are affordable
CROSS_FIT_IMAGES = 5_000
AUTO_FOLDS, AUTO_ROWS = 2, 2_500  # folds of `auto`, which trains several methods, where rows are not few
# Of so many classes pairs merge some where each has few rows; Forward's loss beside them parts them again.
SOME_CLASSES, ENOUGH_ROWS = 8, 1_500
FORWARD_OF_FEW, FORWARD_OF_MORE = 16.0, 1.0  # its weight under 350 rows a class, and from there to enough
MANY_CLASSES = 50  # from here on APL's weights are those of CIFAR-100
# Of few rows with many features a net learns the labels by heart: on LabelMe (1,000 rows of 512) dropout is worth two
# points, on 1,200 digits of 64 and on clusters in 32 dimensions it costs as much.
ROWS_A_FEATURE, DROPOUT = 4, 0.5


def resolve(chosen: config.TrainConfig, about: shape.Shape, rows: int) -> config.TrainConfig:
    """The config with nothing left open."""
    net = net_for(about, rows) if isinstance(chosen.net, config.AutoNet) else chosen.net
    training_rows = max(2, round(rows * (1 - chosen.validation)))
    stage1 = chosen.stage1.model_copy(update=_stage("stage1", chosen.stage1, about, training_rows))
    stage2 = chosen.stage2.model_copy(update=_stage("stage2", chosen.stage2, about, training_rows))
    transition = chosen.transition
    if isinstance(transition, config.Estimate):
        transition = _estimate(transition, stage1, about, rows)
        if isinstance(chosen.method, config.Auto) and rows > AUTO_ROWS and not transition.folds_asked:
            transition = transition.model_copy(update={"folds": AUTO_FOLDS})  # fewer pay for its methods
    stage1 = stage1.model_copy(update={"rounds": _rounds(chosen.stage1, stage1, transition, training_rows)})
    method = method_for(chosen.method, about.classes, rows)
    update = {"method": method, "net": net, "stage1": stage1, "stage2": stage2, "transition": transition}
    return chosen.model_copy(update=update)


def held_notes(held: int, classes: int) -> list[str]:
    """A warning if too few rows are held out to judge a training by."""
    if held >= max(FEW_HELD, FEW_HELD_A_CLASS * classes):
        return []
    few = "1 row is" if held == 1 else f"{held} rows are"
    return [
        f"Only {few} held out (validation): which weights are kept, and whether stage 2 is better than"
        " stage 1, is little more than chance; a larger share would tell."
    ]


def method_for(chosen: config.MethodConfig, classes: int, rows: int) -> config.MethodConfig:
    """The method with the weights that rows and classes ask for."""
    match chosen:
        case config.Apl():
            return _apl(chosen, classes)
        case config.ForwardSimi(forward=None):
            return chosen.model_copy(update={"forward": _beside_pairs(classes, rows / classes)})
        case _:
            return chosen


def _beside_pairs(classes: int, rows: float) -> float | None:
    """The weight of Forward's loss beside that of pairs by the rows of a class; None: as what pairs say will ask."""
    if classes < SOME_CLASSES or rows >= ENOUGH_ROWS:
        return None
    return FORWARD_OF_FEW if rows < members.ROWS_FOR_PAIRS else FORWARD_OF_MORE


def _apl(chosen: config.Apl, classes: int) -> config.Apl:
    """The authors' weights of APL: those of CIFAR-10, or of CIFAR-100 where there are many classes."""
    many = classes >= MANY_CLASSES
    alpha = (10.0 if many else 1.0) if chosen.alpha is None else chosen.alpha
    beta = (0.1 if many and chosen.passive == "rce" else 1.0) if chosen.beta is None else chosen.beta
    return chosen.model_copy(update={"alpha": alpha, "beta": beta})


def net_for(about: shape.Shape, rows: int) -> config.NetConfig:
    """The net that suits the data: the paper's for data like the paper's."""
    if about.kind == "text":
        return config.TextNet()
    if about.image is None:
        few = about.width is not None and rows < ROWS_A_FEATURE * about.width
        return config.Mlp(dropout=DROPOUT if few else 0.0)
    height, width, channels = about.image
    if channels == 1 and max(height, width) <= 32 and min(height, width) >= shape.SMALLEST_SIDE:
        return config.LeNet()  # MNIST
    if max(height, width) <= 64:
        return config.ResNet56()  # CIFAR; a shake-shake net costs almost three times as much a step
    return config.ResNet50()  # Clothing1M


def _stage(name: str, stage: config.Stage, about: shape.Shape, rows: int) -> dict[str, object]:
    fewest, most = EPOCHS[name]
    epochs = round(fewest * (FULL / rows) ** POWER)
    return {
        "batch_size": stage.batch_size or _batch_size(about.classes, rows),
        "epochs": stage.epochs or min(most, max(fewest, epochs)),
        "augment": stage.augment or config.Augment(shift=_shift(about)),
    }


def _rounds(
    asked: config.FirstStage, stage: config.FirstStage, transition: config.TransitionConfig, rows: int
) -> int:
    """Rounds that stage 1 may take: one where nothing can tell that another is worth it, or where it was not asked."""
    if not isinstance(transition, config.Estimate) or transition.posteriors != "k-fold":
        return 1
    if asked.rounds is not None or asked.epochs is not None:
        return asked.rounds or 1
    steps = (stage.epochs or 1) * splits.batches(rows, stage.batch_size or 1)
    return ROUNDS if steps < FEW_STEPS else 1


def _shift(about: shape.Shape) -> int:
    """A fourteenth of an image's side, two pixels of MNIST: what an image shows does not depend on it.

    Never more than a quarter of the shorter side: a single line of pixels would be shifted out of its own picture.
    """
    if about.image is None:
        return 0
    sides = about.image[:2]
    return min(max(1, round(max(sides) / 14)), min(sides) // 4)


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
