"""`method: auto`: methods with different weaknesses go on from the same weights, and what they end with is blended.

Forward trusts T; with early-learning regularisation it resists labels that it would learn by heart, and sharpens
classes that overlap into one; pairs do both where noise is concentrated; pruning learns from the surest rows alone.
Which of them suits a dataset is seen too dimly through a few hundred noisy rows to bet on one, but clearly enough to
weigh them: by agreement with the rows held out, and by whether they lost classes. A clean label is seen only where the
dataset marks gold rows, which then judge in the place of noisy ones. A row that has judged would flatter the blend that
it helped to choose, so each is also predicted by a blend that the other gold rows choose, and counts by that.
"""

import time
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from c2s import data, members, splits, streams
from c2s.learning import blends, evaluation
from c2s.learning.training import Fitted
from c2s.methods.matrices import Matrix
from c2s.methods.method import Evidence, hides_pairs
from c2s.running.findings import Findings
from c2s.running.workbench import Workbench

Right = npt.NDArray[np.bool_]  # (n,)  whether a noisy label held out is the class that is predicted
PHASE = "stage2-blend"
LOST = 0.08  # share of rows in the wrong classes that weighs as much as a standard error of agreement
UNSEEN = 0.05  # shares of classes are known no better
ENOUGH_GOLD = 50  # rows held out whose true label is known
FOLDS = 5  # of gold rows: each is predicted by a blend that the other four choose


@dataclass(frozen=True)
class Choice:
    """How each member agrees with the rows held out, by which labels, and what share of the blend it has."""

    shares: dict[str, float]
    tried: dict[str, float]
    judges: Literal["gold", "noisy"]

    @property
    def method(self) -> str:
        """The member that weighs most."""
        return max(self.shares, key=self.shares.__getitem__)

    def plain(self) -> dict[str, object]:
        """The choice as the model's card tells it."""
        return {
            "method": self.method,
            "shares": self.shares,
            "agreement": self.tried,
            "judges": self.judges,
        }


def shortlist(evidence: Evidence) -> list[members.Member]:
    """The members that are trained."""
    return members.shortlist(len(evidence.y), evidence.classes, hidden=hides_pairs("auto", evidence))


def choose(bench: Workbench, found: Findings, trained: dict[str, Fitted]) -> tuple[Fitted, Choice]:
    """The blend of all members, each by its share."""
    began = time.perf_counter()
    rows, labels, judges = _judges(bench)
    agreed = np.stack(  # (members, n)
        [
            _clean(bench, fitted, rows) == labels
            if judges == "gold"
            else right(bench, fitted, found.evidence.T_c)
            for fitted in trained.values()
        ]
    )
    lost = np.array([_lost(bench, fitted, found.evidence) for fitted in trained.values()])
    shares = _shares(agreed.mean(axis=1), lost, judges=len(rows))
    nets = [fitted.net for fitted in trained.values()]
    made = _blended(bench, nets, shares)
    blind = _blind(bench, nets, agreed, lost=lost, rows=rows, labels=labels) if judges == "gold" else None
    entry = {"phase": PHASE, "epoch": 0, "kept": True, "seconds": time.perf_counter() - began}
    probs = evaluation.posterior(made, bench.source, bench.holdout)
    entry |= evaluation.judged(probs, found.evidence.T_c, bench.dataset.y[bench.holdout])
    entry |= dict(bench.probe(made)) if bench.probe else {}
    bench.history.append(entry)
    tried = dict(zip(trained, agreed.mean(axis=1).tolist(), strict=True))
    choice = Choice(dict(zip(trained, shares, strict=True)), tried, judges)
    return Fitted(PHASE, made, found.evidence.T_c, learnt=False, history=[entry], blind=blind), choice


def _blended(bench: Workbench, nets: list[nn.Module], shares: list[float]) -> nn.Module:
    """One net of all, its batch norms measured on the training rows."""
    made = blends.blend(nets, shares)
    draws = torch.Generator().manual_seed(streams.derive(bench.config.seed, PHASE))
    blends.measure_norms(made, bench.source, torch.from_numpy(np.array(bench.train)), draws)
    return made


def _blind(
    bench: Workbench,
    nets: list[nn.Module],
    agreed: Right,
    *,
    lost: npt.NDArray[np.float64],
    rows: data.Labels,
    labels: data.Labels,
) -> data.Labels:
    """What blends say of gold rows whose labels had no say in their shares; (n,), -1 for all other rows."""
    found = np.full(len(bench.dataset), -1, dtype=np.int64)
    numbers = splits.folds(labels, FOLDS, seed=bench.config.seed)
    for fold in range(FOLDS):
        mine, others = rows[numbers == fold], agreed[:, numbers != fold]
        made = _blended(bench, nets, _shares(others.mean(axis=1), lost, judges=others.shape[1]))
        found[mine] = evaluation.posterior(made, bench.source, mine).argmax(axis=1)
    return found


def _shares(agreement: npt.NDArray[np.float64], lost: npt.NDArray[np.float64], *, judges: int) -> list[float]:
    """Each standard error of agreement behind the best, and each share of lost rows, costs a factor of e."""
    top = agreement.max()
    error = max(np.sqrt(top * (1 - top) / judges), 1 / judges)
    seen = np.maximum(lost, UNSEEN)
    weights = np.exp(-(top - agreement) / error - (seen - seen.min()) / LOST)  # (members,)
    shares: list[float] = (weights / weights.sum()).tolist()
    return shares


def _lost(bench: Workbench, fitted: Fitted, evidence: Evidence) -> float:
    """How many rows must change class for the classes to have the shares that T gives them: classes that merged."""
    predicted = _clean(bench, fitted, bench.train)
    shares = np.bincount(predicted, minlength=evidence.classes) / len(predicted)  # (c,)
    return float(np.abs(shares - evidence.priors).sum() / 2)


def right(bench: Workbench, fitted: Fitted, T_c: Matrix) -> Right:
    """Which of the noisy labels held out a training predicts, by its classes and the labels that T_c gives them."""
    probs = evaluation.posterior(fitted.net, bench.source, bench.holdout)
    agreed: Right = evaluation.expected(probs, T_c) == bench.dataset.y[bench.holdout]
    return agreed


def _clean(bench: Workbench, fitted: Fitted, rows: data.Labels) -> data.Labels:
    predicted: data.Labels = evaluation.posterior(fitted.net, bench.source, rows).argmax(1)
    return predicted


def _judges(bench: Workbench) -> tuple[data.Labels, data.Labels, Literal["gold", "noisy"]]:
    """The rows held out that members are judged by, and their labels: gold ones where there are enough."""
    gold = bench.dataset.gold
    if gold is not None:
        known = bench.holdout[gold[bench.holdout] >= 0]
        if len(known) >= ENOUGH_GOLD:
            return known, gold[known], "gold"
    return bench.holdout, bench.dataset.y[bench.holdout], "noisy"
