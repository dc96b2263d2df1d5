"""What stage 1 reveals about the labels: T_c by several estimators, and the choice.

Where stage 1 is mostly right counting is the best estimator; where it wavers
(pair flip near one half, overlapping classes) counting takes its errors for noise, and T is learnt jointly with the
classifier, given rows enough. Whichever it is, the labels may refute it; then T is what they are likeliest under.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from torch import nn

from c2s import config, data, streams, trainings
from c2s.judging import diagnosis, testimony
from c2s.learning import evaluation
from c2s.learning.training import Fitted
from c2s.matrix import consensus, estimation, intervals, refinement, transition
from c2s.methods.matrices import Matrix
from c2s.methods.method import Evidence
from c2s.methods.volmin import VolMin
from c2s.running import rounds
from c2s.running.workbench import Workbench, no_evidence

WAVERING = (
    0.4  # share of rows with a rival class half as likely, above which stage 1 does not know the classes
)
WIDEST = 1024  # vectors that neighbours are looked for in as they are
LEAST = 1e-4  # a posterior below it says no more
_REFUTED = (
    "Errors of stage 1 are told from wrong labels by a fit of both: the labels are too unlikely under the matrix"
    " that would have been taken"
)


@dataclass(frozen=True)
class Findings:
    """The chosen T_c with its alternatives, and the net that stage 2 starts from."""

    estimator: str
    evidence: Evidence
    alternatives: dict[str, Matrix]
    flagged: tuple[int, ...]  # classes without evidence: their row is the identity
    start: Fitted  # the phase whose net stage 2 starts from
    choice: str  # why this estimator
    rows: int  # whose labels T_c was read off
    bounds: intervals.Intervals | None = None  # of T_c; None: it was given
    fitted: intervals.Fit | None = None  # what they stand around; None: too many classes, or T_c was given

    @property
    def read_off(self) -> bool:
        """Whether T_c comes from stage 1's posteriors, rather than from a training of its own, neighbours or people."""
        return self.estimator not in ("volmin", "hoc", "gold")

    def bounds_of(self, T_c: Matrix, y: data.Labels, seed: int) -> intervals.Intervals:
        """Intervals of a T_c that a method learnt from this one on."""
        if self.fitted is not None:
            return self.fitted.around(T_c)
        return intervals.sampled(T_c, y, rng=streams.numpy(seed, "intervals"))


def study(bench: Workbench, first: rounds.Judged) -> Findings:
    """Estimate T_c in every way that needs no further training, choose, and learn it jointly if it takes that."""
    stage1, posterior, y = first.stage1, first.posterior, bench.dataset.y
    joint = estimation.confident_joint(posterior, y)
    estimates = _estimates(bench, posterior, y, joint)
    alternatives = {name: found.T for name, found in estimates.items()}
    (estimator, choice), start = _chosen(bench, stage1.net), stage1
    if estimator == "given" and isinstance(bench.config.transition, config.Given):
        alternatives["given"] = transition.check(bench.config.transition.matrix)
    if estimator == "volmin":
        start = _learn(bench, stage1.net)
        alternatives["volmin"] = start.T_c
    refined = estimates.get("refined")
    same = refined if isinstance(refined, refinement.Refined) else None
    if same is not None and _left_to_us(bench) and refinement.refutes(same, alternatives[estimator]):
        estimator, choice, start = "refined", f"{_REFUTED} ({estimator}).", stage1
    T_c = alternatives[estimator]
    priors = _priors(T_c, y, estimates.get(estimator))
    evidence = Evidence(y, T_c, priors, joint.suspects)
    flagged = estimates[estimator].flagged if estimator in estimates else ()
    seen = diagnosis.Seen(
        posterior, y, bench.config.transition, rounds.fold_numbers(bench), bench.config.seed
    )
    if seen.held_out_only:
        seen = seen.only(bench.fair)
    counts = np.bincount(y, minlength=len(T_c))
    own = priors if isinstance(estimates.get(estimator), consensus.Consensus) else None
    fitted = diagnosis.fit_of(estimator, seen, counts=counts, refined=same)
    bounds = diagnosis.intervals_of(estimator, T_c, seen, fitted=fitted, priors=own, counts=counts)
    rows = len(seen.y)
    if estimator == "gold":  # by its own rows alone: no error of stage 1 is in it
        told = y[testimony.witnesses(bench.dataset)]
        rng = streams.numpy(bench.config.seed, "intervals")
        bounds = intervals.sampled(T_c, told, counts=counts, rng=rng)
        rows = len(told)
    return Findings(estimator, evidence, alternatives, flagged, start, choice, rows, bounds, fitted)


def _priors(T_c: Matrix, y: data.Labels, found: estimation.Estimated | None) -> npt.NDArray[np.float64]:
    """The clean shares of the classes: what neighbours say where they were asked, else through T."""
    if isinstance(found, consensus.Consensus):
        return found.priors
    return transition.clean_priors(T_c, np.bincount(y, minlength=len(T_c)))


def _chosen(bench: Workbench, stage1: nn.Module) -> tuple[str, str]:
    """The estimator by name, and why."""
    chosen = bench.config
    if isinstance(chosen.transition, config.Given):
        return "given", "The job came with its matrix."
    if chosen.transition.estimator != "auto":
        return chosen.transition.estimator, "The job asked for this estimator."
    if isinstance(chosen.method, config.VolMin):  # learns T itself, in stage 2
        return "confident-joint", "Rows are counted for a start: the method learns the matrix itself."
    rows = len(bench.train) / len(bench.dataset.labels)
    if not trainings.may_learn(chosen, rows):
        least = trainings.ROWS_TO_LEARN
        few = f"{rows:.0f} rows a class are fewer than the {least} that learning the matrix needs"
        return "confident-joint", f"Rows that stage 1 is sure of are counted: {few}."
    ambiguity = estimation.ambiguity(evaluation.posterior(stage1, bench.source, bench.fair))
    wavering = (
        f"{ambiguity:.0%} of the rows held out have a second class more than half as likely as the first"
    )
    if ambiguity > WAVERING:
        return "volmin", f"The matrix is learnt with the classifier: {wavering}, so counting would mislead."
    return (
        "confident-joint",
        f"Rows that stage 1 is sure of are counted: {wavering}, so it knows the classes.",
    )


def _left_to_us(bench: Workbench) -> bool:
    """Whether a matrix that the labels refute may be replaced; rows that a net has seen would acquit or accuse any."""
    chosen = bench.config.transition
    auto = (
        isinstance(chosen, config.Estimate)
        and chosen.estimator == "auto"
        and chosen.posteriors != "in-sample"
    )
    return auto and not isinstance(bench.config.method, config.VolMin)


def _estimates(
    bench: Workbench, posterior: estimation.Posterior, y: data.Labels, joint: estimation.Estimated
) -> dict[str, estimation.Estimated]:
    """T_c by every estimator that reads it off posteriors: all of them, or those of rows held out at random."""
    chosen = bench.config.transition
    neighbourly = consensus.estimate(_features(bench, posterior), y, posterior.shape[1])
    percentile = chosen.percentile if isinstance(chosen, config.Estimate) else 97.0
    if isinstance(chosen, config.Estimate) and chosen.posteriors == "validation":
        posterior, y = posterior[bench.fair], y[bench.fair]
        joint = estimation.confident_joint(posterior, y)
    found: dict[str, estimation.Estimated] = (
        {} if (gold := testimony.matrix(bench.dataset)) is None else {"gold": gold}
    )
    found |= {
        "hoc": neighbourly,
        "anchors": estimation.anchors(posterior, percentile),
        "mean-posterior": estimation.mean_posterior(posterior),
        "dual-t": estimation.dual_t(posterior, y, percentile),
        "confident-joint": joint,
    }
    asked = isinstance(chosen, config.Estimate) and chosen.estimator == "refined"
    if asked or posterior.shape[1] <= intervals.CLASSES:  # with 100 classes it takes minutes
        found["refined"] = refinement.refine(posterior, y)
    return found


def _features(bench: Workbench, posterior: estimation.Posterior) -> consensus.Features:
    """Where rows are near each other: vectors as they are, anything else by what stage 1 thinks of it."""
    x = bench.dataset.x
    if isinstance(x, np.ndarray) and x.ndim == 2 and x.shape[1] <= WIDEST:
        return x
    return np.log(np.maximum(posterior, LEAST))


def _learn(bench: Workbench, stage1: nn.Module) -> Fitted:
    """T learnt jointly with the classifier, from stage 1's weights on."""
    defaults = config.VolMin()
    epochs = bench.config.transition.epochs if isinstance(bench.config.transition, config.Estimate) else None
    whole = {"schedule": config.Cosine(), "keep": "last", "patience": None}  # accuracy does not tell T's end
    stage = bench.config.stage1.model_copy(update={"epochs": epochs} | whole)
    method = VolMin(defaults.learning_rate, defaults.volume)
    return bench.fit("joint", method, stage1, stage=stage, evidence=no_evidence(bench.dataset))
