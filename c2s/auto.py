"""`method: auto`: methods with different weaknesses go on from the same weights, and what they end with is blended.

Forward trusts T; with early-learning regularisation it resists labels that it would learn by heart, and sharpens
classes that overlap into one; pairs do both where noise is concentrated; pruning learns from the surest rows alone.
Which of them suits a dataset is seen too dimly through a few hundred noisy rows to bet on one, but clearly enough to
weigh them: by agreement with the rows held out, and by whether they lost classes. A clean label is seen only where the
dataset marks gold rows, which then judge in the place of noisy ones.
"""

import time
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch

from c2s import blends, data, evaluation, members, streams
from c2s.findings import Findings
from c2s.methods.method import Evidence, hides_pairs
from c2s.training import Fitted
from c2s.workbench import Workbench

Right = npt.NDArray[np.bool_]  # (n,)  whether a noisy label held out is the class that is predicted
PHASE = "stage2-blend"
ROWS_FOR_PAIRS = 350  # a class, below which pairs merge classes
ROWS_TO_PRUNE = 4_500  # more need no pruning: a net does not learn them by heart
LOST = 0.08  # share of rows in the wrong classes that weighs as much as a standard error of agreement
UNSEEN = 0.05  # shares of classes are known no better
ENOUGH_GOLD = 50  # rows held out whose true label is known


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
    rows = len(evidence.y)
    paired = rows >= ROWS_FOR_PAIRS * evidence.classes and not hides_pairs("auto", evidence)
    wanted = [members.FORWARD, members.REMEMBERING, members.PAIRS if paired else members.WEIGHTED]
    return [*wanted, members.PRUNED] if rows < ROWS_TO_PRUNE else wanted


def choose(bench: Workbench, found: Findings, trained: dict[str, Fitted]) -> tuple[Fitted, Choice]:
    """The blend of all members, each by its share."""
    began = time.perf_counter()
    rows, labels, judges = _judges(bench)
    tried = {name: float(_agreed(bench, fitted, rows, labels).mean()) for name, fitted in trained.items()}
    lost = [_lost(bench, fitted, found.evidence) for fitted in trained.values()]
    shares = _shares(np.array(list(tried.values())), np.array(lost), judges=len(rows))
    made = blends.blend([fitted.net for fitted in trained.values()], shares)
    draws = torch.Generator().manual_seed(streams.derive(bench.config.seed, PHASE))
    blends.measure_norms(made, bench.source, torch.from_numpy(np.array(bench.train)), draws)
    entry = {"phase": PHASE, "epoch": 0, "kept": True, "seconds": time.perf_counter() - began}
    probs = evaluation.posterior(made, bench.source, bench.holdout)
    entry |= evaluation.judged(probs, found.evidence.T_c, bench.dataset.y[bench.holdout])
    entry |= dict(bench.probe(made)) if bench.probe else {}
    bench.history.append(entry)
    choice = Choice(dict(zip(trained, shares, strict=True)), tried, judges)
    return Fitted(PHASE, made, found.evidence.T_c, learnt=False, history=[entry]), choice


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
    predicted = evaluation.posterior(fitted.net, bench.source, bench.train).argmax(1)
    shares = np.bincount(predicted, minlength=evidence.classes) / len(predicted)  # (c,)
    return float(np.abs(shares - evidence.priors).sum() / 2)


def right(bench: Workbench, fitted: Fitted) -> Right:
    """Which of the noisy labels held out a training predicts."""
    return _agreed(bench, fitted, bench.holdout, bench.dataset.y[bench.holdout])


def _agreed(bench: Workbench, fitted: Fitted, rows: data.Labels, labels: data.Labels) -> Right:
    agreed: Right = evaluation.posterior(fitted.net, bench.source, rows).argmax(1) == labels
    return agreed


def _judges(bench: Workbench) -> tuple[data.Labels, data.Labels, Literal["gold", "noisy"]]:
    """The rows held out that members are judged by, and their labels: gold ones where there are enough."""
    gold = bench.dataset.gold
    if gold is not None:
        known = bench.holdout[gold[bench.holdout] >= 0]
        if len(known) >= ENOUGH_GOLD:
            return known, gold[known], "gold"
    return bench.holdout, bench.dataset.y[bench.holdout], "noisy"
