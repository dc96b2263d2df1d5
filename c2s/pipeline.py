"""Algorithm 1 of the paper, one statement a step; every step goes on from the last epoch that was kept of it."""

import dataclasses
from pathlib import Path

import numpy as np
import numpy.typing as npt

from c2s import (
    config,
    data,
    errors,
    evaluation,
    findings,
    folders,
    merging,
    result,
    training,
    transition,
    workbench,
)
from c2s.findings import Findings
from c2s.methods import choice
from c2s.methods.ce import CrossEntropy
from c2s.methods.method import Evidence, is_exact
from c2s.workbench import Workbench

CLEARLY = 1.645  # standard errors of a paired difference: one-sided 95 %


def run(
    dataset: data.Dataset,
    chosen: config.TrainConfig,
    folder: Path,
    *,
    device: str = "cpu",
    report: training.Report = training.quiet,
    probe: training.Probe | None = None,
    pretrained: Path | None = None,
    listener: workbench.Listener | None = None,
) -> result.Result:
    """Train on noisy labels in two stages; a folder that holds part of this run is taken up where it stopped."""
    told = listener or workbench.Listener()
    with folders.reserved(folder):
        bench = workbench.open_bench(
            merging.merged(dataset, chosen.merge),
            chosen,
            folder,
            device=device,
            report=report,
            probe=probe,
            pretrained=pretrained,
            listener=told,
        )
        refuse_given(bench)
        told.step("stage1")
        stage1 = first_stage(bench)
        told.step("transition")
        found = findings.study(bench, stage1)  # T_c, and from it what the method needs
        told.found(result.estimated(bench, found))
        hidden = hides_pairs(bench.config.method, found.evidence)
        told.step("stage2")
        stage2 = [] if hidden else [second_stage(bench, found)]
        told.step("evaluation")
        kept = best(bench, [*stage2, found.start, stage1])
        told.step("packaging")
        return result.publish(bench, found, kept, hidden=hidden)


def refuse_given(bench: Workbench) -> None:
    """A matrix of the user's that hides similarity from the method is refused before anything is trained."""
    if not isinstance(bench.config.transition, config.Given):
        return
    T_c = transition.check(bench.config.transition.matrix)
    known = workbench.no_evidence(bench.dataset)
    priors = transition.clean_priors(T_c, np.bincount(bench.dataset.y, minlength=len(T_c)))
    if hides_pairs(bench.config.method, dataclasses.replace(known, T_c=T_c, priors=priors)):
        raise errors.NotLearnable(
            'the given matrix hides which pairs are similar: choose correction "exact" or the method "forward"'
        )


def hides_pairs(method: config.MethodConfig, evidence: Evidence) -> bool:
    """Pairs under the averaged correction teach nothing where T_s11 does not exceed T_s01."""
    if not isinstance(method, config.ForwardSimi | config.ReweightSimi):
        return False
    if is_exact(method.correction, evidence):
        return False
    T_s = transition.similarity_from_class(evidence.T_c, evidence.priors)
    return bool(T_s[1, 1] - T_s[0, 1] <= transition.HIDDEN_GAP)


def first_stage(bench: Workbench) -> training.Fitted:
    """Cross-entropy on the labels as they are."""
    nothing = workbench.no_evidence(bench.dataset)
    return bench.fit("stage1", CrossEntropy(), bench.fresh_net(), stage=bench.config.stage1, evidence=nothing)


def second_stage(bench: Workbench, found: Findings) -> training.Fitted:
    """The method from stage 1's weights on; Revision runs Reweight first and then revises T."""
    method, stage = bench.config.method, bench.config.stage2
    start = found.start.net
    if isinstance(method, config.Revision):
        first = choice.build(config.Reweight(max_weight=method.max_weight))
        start = bench.fit("stage2-reweight", first, start, stage=stage, evidence=found.evidence).net
        gently = {"learning_rate": method.learning_rate, "schedule": config.Constant()}
        stage = stage.model_copy(update=gently | {"epochs": method.epochs or stage.epochs})
    return bench.fit("stage2", choice.build(method), start, stage=stage, evidence=found.evidence)


def best(bench: Workbench, candidates: list[training.Fitted]) -> training.Fitted:
    """The first candidate, unless a later one is clearly better on the noisy rows held out."""
    kept, right = candidates[0], _right(bench, candidates[0])
    for other in candidates[1:]:
        others_right = _right(bench, other)
        gain = others_right.astype(float) - right  # (n,)  +1, 0 or -1 a row
        if gain.mean() > CLEARLY * gain.std() / np.sqrt(len(gain)):
            kept, right = other, others_right
    return kept


def _right(bench: Workbench, fitted: training.Fitted) -> npt.NDArray[np.bool_]:
    posterior = evaluation.posterior(fitted.net, bench.source, bench.holdout)
    right: npt.NDArray[np.bool_] = posterior.argmax(1) == bench.dataset.y[bench.holdout]
    return right
