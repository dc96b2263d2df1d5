"""Every training that a run makes, in order, and what it costs; loads without torch, so that both can be foretold.

What stage 1 will find is not known beforehand: whether it goes on for further rounds (`onward`), and whether T must be
learnt jointly (`wavers`), is told apart, and rows that a method leaves out, or epochs that patience saves, are counted
as if they were not.
"""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from c2s import config, members, splits, trials

ROUND = "-round-"  # between a training's name and the number of its round
ROWS_TO_LEARN = 300  # a class: fewer are learnt by heart together with T
TWO_NETS = (config.CoTeaching, config.JoCoR, config.S2E)


@dataclass(frozen=True)
class Training:
    """A phase of a run: its epochs, and what each of them costs."""

    name: str
    epochs: int
    rows: int  # of an epoch
    batch_size: int
    nets: int = 1  # that learn from every batch
    otherwise: str | None = None  # its name where noise turns out to hide pairs

    @property
    def seen(self) -> int:
        """Rows through a net, which is what time goes by."""
        return self.epochs * self.rows * self.nets

    @property
    def steps(self) -> int:
        """Batches that a net learns from: of two nets each counts."""
        return self.epochs * splits.batches(self.rows, self.batch_size) * self.nets


def may_learn(chosen: config.TrainConfig, rows: float) -> bool:
    """Whether `estimator: auto` learns T with the classifier should stage 1 waver; rows are those of a class."""
    asked = isinstance(chosen.transition, config.Estimate) and chosen.transition.estimator == "auto"
    return asked and not isinstance(chosen.method, config.VolMin) and rows >= ROWS_TO_LEARN


def planned(
    chosen: config.TrainConfig,
    class_rows: Sequence[int],
    *,
    spared: int = 0,
    onward: bool = False,
    wavers: bool = False,
) -> list[Training]:
    """The trainings of a resolved config on classes of so many rows; those that only stage 1 may tell where asked for.

    `spared` gold rows are held out besides the share that validation takes.
    """
    rows = sum(class_rows) - splits.held(class_rows, chosen.validation) - spared
    first = [_of("stage1", chosen.stage1, rows)]
    estimate, learns = chosen.transition, False
    if isinstance(estimate, config.Estimate):
        if estimate.posteriors == "k-fold":
            sizes = enumerate(splits.outside(rows, estimate.folds), start=1)
            first += [_of(f"fold-{number}", chosen.stage1, seen) for number, seen in sizes]
        first += _rounds(first, chosen.stage1, onward=onward)
        learns = estimate.estimator == "volmin" or (wavers and may_learn(chosen, rows / len(class_rows)))
        if learns:
            first.append(_of("joint", chosen.stage1, rows, epochs=estimate.epochs))
    if isinstance(chosen.method, config.Auto):
        return first + _members(chosen.stage2, rows, class_rows, advanced=learns)
    return first + _second(chosen.method, chosen.stage2, rows)


def round_name(name: str, number: int) -> str:
    """What a round of stage 1, or of a fold, after the first is called."""
    return f"{name}{ROUND}{number}"


def round_epochs(stage: config.FirstStage, number: int) -> int:
    """The length of a round of stage 1 after the first: as long as all before it."""
    return (stage.epochs or 1) << (number - 2)


def _rounds(first: Sequence[Training], stage: config.FirstStage, *, onward: bool) -> list[Training]:
    """The rounds of stage 1 after the first: a fold tells whether others follow it, and stage 1 comes last."""
    stage1, *folds = first
    going = [*folds, stage1] if onward else folds[:1]
    return [
        dataclasses.replace(one, name=round_name(one.name, number), epochs=round_epochs(stage, number))
        for one in going
        for number in range(2, (stage.rounds or 1) + 1)
    ]


def _members(stage: config.Stage, rows: int, class_rows: Sequence[int], *, advanced: bool) -> list[Training]:
    """What `auto` trains."""
    found = []
    for one in members.shortlist(sum(class_rows), len(class_rows)):
        instead = f"stage2-{members.WEIGHTED.name}" if one is members.PAIRS else None
        own = one.stage(stage, advanced=advanced)
        found.append(_of(f"stage2-{one.name}", own, rows, otherwise=instead))
    return found


def _second(method: config.MethodConfig, stage: config.Stage, rows: int) -> list[Training]:
    """What any other method trains."""
    nets, found, epochs = 2 if isinstance(method, TWO_NETS) else 1, [], stage.epochs
    if isinstance(method, config.Revision):
        found = [_of("stage2-reweight", stage, rows)]
        epochs = method.epochs or epochs
    if isinstance(method, config.S2E) and method.curve is None:
        tried = trials.epochs(method, stage.epochs or 1)
        found = [_of(name, stage, rows, epochs=length, nets=nets) for name, length in tried.items()]
    return [*found, _of("stage2", stage, rows, epochs=epochs, nets=nets)]


def _of(
    name: str,
    stage: config.Stage,
    rows: int,
    *,
    epochs: int | None = None,
    nets: int = 1,
    otherwise: str | None = None,
) -> Training:
    return Training(name, epochs or stage.epochs or 1, rows, stage.batch_size or 1, nets, otherwise)
