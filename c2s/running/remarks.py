"""What a run says of its own choices: which model it kept and why, what `auto` blended, what became of a given T."""

import numpy as np

from c2s import config, naming
from c2s.learning import precision
from c2s.learning.training import Fitted
from c2s.matrix import transition
from c2s.methods.matrices import Matrix
from c2s.running import auto
from c2s.running.workbench import Workbench


def on_model(bench: Workbench, kept: Fitted, T_c: Matrix, *, hidden: bool) -> list[str]:
    """Why the model is not stage 2's, if it is not, and what it predicts where labels are mostly another class's."""
    return [*_kept(bench, kept, hidden=hidden), *_names(bench, kept, T_c)]


def _kept(bench: Workbench, kept: Fitted, *, hidden: bool) -> list[str]:
    """Why the model is not stage 2's, if it is not."""
    name = bench.config.method.name
    if hidden:
        return [
            f"The noise found hides which pairs are similar, so stage 2 ({name}) was not run and the model of"
            f' {kept.phase} is kept; the method "forward" may still learn.'
        ]
    if kept.phase.startswith("stage2"):
        return []
    return [
        f"Stage 2 ({name}) agreed clearly less with the held-out noisy labels than the model of {kept.phase},"
        " so that model is kept."
    ]


def _names(bench: Workbench, kept: Fitted, T_c: Matrix) -> list[str]:
    """A model that was not corrected predicts labels, which are no classes where these are mostly given others."""
    names, label = bench.dataset.classes, transition.mostly(T_c)
    swapped = [f"{names[i]} as {names[label[i]]}" for i in np.flatnonzero(label != np.arange(len(T_c)))]
    if not swapped or (transition.mostly(kept.T_c) == label).all():
        return []
    return [
        f"By the matrix rows are mostly labelled as another class ({naming.some(swapped)}), and the model that is kept"
        ' predicts the labels as they are given: the method "forward" learns the classes behind them.'
    ]


def on_choice(choice: auto.Choice | None) -> list[str]:
    """What `auto` blended."""
    if choice is None:
        return []
    parts = ", ".join(
        f"{name} {share:.0%} (agrees with {choice.tried[name]:.1%} of the {choice.judges} labels held out)"
        for name, share in choice.shares.items()
    )
    fair = " Each gold row counts for the accuracy as a blend that the others choose predicts it."
    return [f"auto blended the weights of {parts}.{fair if choice.judges == 'gold' else ''}"]


def on_settings(bench: Workbench) -> list[str]:
    """What became of settings that a run could not follow to the letter."""
    return [*_given(bench.config), *_precision(bench)]


def _given(chosen: config.TrainConfig) -> list[str]:
    """What became of a matrix that was asked for under a method that learns T itself, or takes none."""
    if isinstance(chosen.method, config.Prune | config.PruneSimi):
        return _on_pruned(chosen)
    if not isinstance(chosen.transition, config.Given):
        return []
    match chosen.method:
        case config.VolMin():
            return ["volmin learns T itself: the given matrix was not trained with, only compared with."]
        case config.Revision():
            return ["revision took the given matrix as a start and revised it: T may differ from it."]
    return []


def _precision(bench: Workbench) -> list[str]:
    """That bfloat16 was asked for in vain."""
    asked = any(stage.precision == "bfloat16" for stage in (bench.config.stage1, bench.config.stage2))
    if not asked or precision.halves("bfloat16", bench.device):
        return []
    return ["This device has no units for bfloat16 that work, so the run was computed in float32."]


def _on_pruned(chosen: config.TrainConfig) -> list[str]:
    """That rows are left out by the count of stage 1's posteriors, whichever matrix is told."""
    if isinstance(chosen.transition, config.Given):
        which = "given matrix"
    elif chosen.transition.estimator not in ("auto", "confident-joint"):
        which = f"matrix of {chosen.transition.estimator}"
    else:
        return []
    return [
        f"{chosen.method.name} leaves out the rows whose labels stage 1 finds wrong, by the confident joint: the"
        f" {which} had no say in that, it only tells the noise."
    ]
