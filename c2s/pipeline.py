"""Algorithm 1 of the paper, one statement a step; every step goes on from the last epoch that was kept of it."""

import dataclasses
from pathlib import Path

import numpy as np

from c2s import config, data, errors, folders
from c2s.learning import evaluation, training
from c2s.matrix import transition
from c2s.methods.method import Evidence
from c2s.methods.method import hides_pairs as pairs_hidden
from c2s.running import auto, findings, result, rounds, stages, workbench
from c2s.running.workbench import Workbench


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
            dataset,
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
        first = rounds.first_stage(bench)
        told.step("transition")
        found = findings.study(bench, first)  # T_c, and from it what the method needs
        told.found(result.estimated(bench, found))
        hidden = hides_pairs(bench.config.method, found.evidence)
        told.step("stage2")
        stage2, choice = (None, None) if hidden else stages.second(bench, found)
        told.step("evaluation")
        kept = best(bench, found, [*([stage2] if stage2 else []), found.start, first.stage1])
        told.step("packaging")
        return result.publish(bench, found, kept, hidden=hidden, choice=choice)


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
    """Whether the noise leaves a pair method nothing to learn from."""
    if not isinstance(method, config.ForwardSimi | config.ReweightSimi):
        return False
    return pairs_hidden(method.correction, evidence)


def best(bench: Workbench, found: findings.Findings, candidates: list[training.Fitted]) -> training.Fitted:
    """The first candidate, unless a later one is clearly better on the noisy rows held out, all by the same T."""
    kept = candidates[0]
    T_c = kept.T_c if kept.learnt else found.evidence.T_c
    right = auto.right(bench, kept, T_c)
    for other in candidates[1:]:
        others_right = auto.right(bench, other, T_c)
        gain = others_right.astype(float) - right  # (n,)  +1, 0 or -1 a row
        if evaluation.clearly_better(gain):
            kept, right = other, others_right
    return kept
