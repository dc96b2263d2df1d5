"""Stage 1: cross-entropy on the labels as they are, and what its nets say of rows that they have not seen.

On large data a short stage 1 has not learnt the labels by heart and its own posteriors serve; on small data K nets
judge the rows they have not seen. Few rows are few steps, too, and a net that has only begun to part the classes
misleads all that follows. So folds then go on in rounds, each as long as all before it, and stage 1 takes the fewest
that predict as many labels of unseen rows as the best number does, but for chance. That labels become likelier is not
enough: a net also sharpens what it knows already.
"""

import dataclasses
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from c2s import config, data, folders, splits, trainings
from c2s.learning import evaluation
from c2s.learning.training import Fitted
from c2s.matrix import dependence, estimation, shares
from c2s.methods.ce import CrossEntropy
from c2s.running.workbench import Workbench, no_evidence

PHASE = "stage1"
FILE = "posterior.npy"
TELLING = 100  # unseen rows after which folds that gained by no round end the search


@dataclass(frozen=True)
class Judged:
    """Stage 1's model, and the posterior of every row (n, c), by nets that have not seen it where rows are few."""

    stage1: Fitted
    posterior: estimation.Posterior


@dataclass(frozen=True)
class Fold:
    """A part of the rows, and a net that the others taught."""

    name: str
    unseen: data.Labels  # row numbers
    seen: data.Labels
    fitted: Fitted  # after its last round
    posteriors: tuple[estimation.Posterior, ...]  # of its unseen rows, after each round


def first_stage(bench: Workbench) -> Judged:
    """Stage 1 and its folds, for as many rounds as are worth it; the posterior is left in the run's folder."""
    stage1 = _trained(bench, PHASE, bench.train)
    folds, worth = _rounds(bench, _folds(bench))
    for number in range(2, worth + 1):
        stage1 = dataclasses.replace(_continued(bench, PHASE, stage1, bench.train, number), phase=PHASE)
    kept = bench.folder / "posterior"
    if not kept.exists():
        with folders.whole(kept) as part:
            np.save(part / FILE, _posterior(bench, stage1, folds, worth), allow_pickle=False)
    return Judged(stage1, np.load(kept / FILE, allow_pickle=False))


def _posterior(bench: Workbench, stage1: Fitted, folds: list[Fold], worth: int) -> estimation.Posterior:
    """Every row as stage 1 sees it, those that a fold has not seen as its net does."""
    judged = evaluation.posterior(stage1.net, bench.source)
    for fold in folds:
        judged[fold.unseen] = fold.posteriors[worth - 1]
    return _levelled(judged, bench.dataset.y)


def fold_numbers(bench: Workbench) -> data.Labels | None:
    """The fold whose net judged each row, -1 for rows held out; None where stage 1 judged all."""
    chosen = bench.config.transition
    if not isinstance(chosen, config.Estimate) or chosen.posteriors != "k-fold":
        return None
    numbers = np.full(len(bench.dataset), -1, dtype=np.int64)
    numbers[bench.train] = splits.folds(bench.dataset.y[bench.train], chosen.folds, seed=bench.config.seed)
    return numbers


def _folds(bench: Workbench) -> list[Fold]:
    """A net for every part of the training rows; rows held out are unseen already."""
    if (numbers := fold_numbers(bench)) is None:
        return []
    found = []
    for fold in range(numbers.max() + 1):
        name, unseen = f"fold-{fold + 1}", np.flatnonzero(numbers == fold)
        seen = bench.train[numbers[bench.train] != fold]
        fitted = _trained(bench, name, seen)
        first = evaluation.posterior(fitted.net, bench.source, unseen)
        found.append(Fold(name, unseen, seen, fitted, (first,)))
    return found


def _rounds(bench: Workbench, folds: list[Fold]) -> tuple[list[Fold], int]:
    """The folds after all rounds, and how many are worth it: only the first, once the folds so far gained by no other.

    All are looked at before one is chosen: a net may stand on a plateau for a round and part the classes in the next.
    """
    most = bench.config.stage1.rounds or 1
    found, right = list(folds), np.zeros((0, most))
    for place, fold in enumerate(folds):
        found[place] = _to_the_last(bench, fold, most)
        agreed = [_agrees(bench, fold, posterior) for posterior in found[place].posteriors]
        right = np.concatenate([right, np.stack(agreed, axis=1)])
        if len(right) >= TELLING and right.sum(0).argmax() == 0:
            return found, 1
    return found, fewest(right)


def fewest(right: npt.NDArray[np.float64]) -> int:
    """The smallest number of rounds that no other is clearly better than; right (n, rounds): 1 where a label is met."""
    best = right[:, right.sum(0).argmax()]
    enough = [not evaluation.clearly_better(best - of_round) for of_round in right.T]
    return enough.index(True) + 1


def _to_the_last(bench: Workbench, fold: Fold, most: int) -> Fold:
    """The fold after every round."""
    for number in range(2, most + 1):
        fitted = _continued(bench, fold.name, fold.fitted, fold.seen, number)
        after = evaluation.posterior(fitted.net, bench.source, fold.unseen)
        fold = dataclasses.replace(fold, fitted=fitted, posteriors=(*fold.posteriors, after))
    return fold


def _agrees(bench: Workbench, fold: Fold, posterior: estimation.Posterior) -> npt.NDArray[np.float64]:
    """One for each unseen row whose label the fold's net predicts, as it will be heard, else nought."""
    y = bench.dataset.y[fold.unseen]
    right: npt.NDArray[np.float64] = (_levelled(posterior, y).argmax(1) == y).astype(np.float64)
    return right


def _trained(bench: Workbench, name: str, rows: data.Labels) -> Fitted:
    net = bench.fresh_net() if name == PHASE else bench.fresh_net(name)
    chosen, nothing = bench.config.stage1, no_evidence(bench.dataset)
    whole = None if name == PHASE else rows
    return bench.fit(name, CrossEntropy(), net, stage=chosen, evidence=nothing, rows=whole)


def _continued(bench: Workbench, name: str, before: Fitted, rows: data.Labels, number: int) -> Fitted:
    """A round more from its weights on, as long as all rounds before it."""
    chosen, nothing = bench.config.stage1, no_evidence(bench.dataset)
    stage = chosen.model_copy(update={"epochs": trainings.round_epochs(chosen, number)})
    whole = None if name == PHASE else rows
    phase = trainings.round_name(name, number)
    return bench.fit(phase, CrossEntropy(), before.net, stage=stage, evidence=nothing, rows=whole)


def _levelled(posterior: estimation.Posterior, y: data.Labels) -> estimation.Posterior:
    """The same if it adds up to the labels there are, or if rows explain their noise: it may then lean to the truth."""
    if shares.off(posterior, y) <= shares.FAR:
        return posterior
    counted = estimation.confident_joint(posterior, y).T
    return posterior if dependence.examine(posterior, y, counted).found else shares.matched(posterior, y)
