"""`method: auto`: methods with different weaknesses are trained, and the noisy rows held out choose among them.

Forward and F-Class2Simi trust T: strong where wrong labels are concentrated, and pairs the strongest or the weakest of
all. Of few rows JoCoR and Prune learn more, leaving out those that are hard or doubtful; of many APL, whose loss is
bounded. Nothing here sees a clean label.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from c2s import config, defaults, evaluation
from c2s.methods.method import Evidence, hides_pairs
from c2s.training import Fitted
from c2s.workbench import Workbench

Right = npt.NDArray[np.bool_]  # (n,)  whether a noisy label held out is the class that is predicted
Shortlist = tuple[config.MethodConfig, ...]
HINT = 0.3  # standard errors of an agreement by which a method must lead those before it
SHORTER = 2 / 3
FEW_ROWS = 4_500  # from the 33 settings of its benchmark at one seed, as are the lists and the hint


@dataclass(frozen=True)
class Choice:
    """Which method it became, and how each that was tried agrees with the noisy rows held out."""

    method: str
    tried: dict[str, float]

    def plain(self) -> dict[str, object]:
        """The choice as the model's card tells it."""
        return {"method": self.method, "agreement": self.tried}


def shortlist(evidence: Evidence) -> Shortlist:
    """The methods that are tried, in the order in which ties are broken."""
    trusting = () if hides_pairs("auto", evidence) else (config.ForwardSimi(),)
    if len(evidence.y) < FEW_ROWS:
        return (config.JoCoR(), config.Prune(), config.Forward(), *trusting)
    return (config.Forward(), *trusting, defaults.method_for(config.Apl(), evidence.classes))


def stage(method: config.MethodConfig, chosen: config.Stage) -> config.Stage:
    """Stage 2 of one of them: two nets get two thirds of its epochs, so that `auto` costs what was promised."""
    if not isinstance(method, config.JoCoR):
        return chosen
    return chosen.model_copy(update={"epochs": max(1, round(SHORTER * (chosen.epochs or 1)))})


def choose(bench: Workbench, trained: dict[str, Fitted]) -> tuple[Fitted, Choice]:
    """The first, unless another agrees better with the noisy rows held out by more than a hint."""
    tried = {name: float(right(bench, fitted).mean()) for name, fitted in trained.items()}
    kept, *others = tried
    for name in others:
        error = np.sqrt(tried[kept] * (1 - tried[kept]) / len(bench.holdout))
        if tried[name] - tried[kept] > HINT * error:
            kept = name
    return trained[kept], Choice(kept, tried)


def right(bench: Workbench, fitted: Fitted) -> Right:
    """Which of the noisy labels held out a training predicts."""
    posterior = evaluation.posterior(fitted.net, bench.source, bench.holdout)
    agreed: Right = posterior.argmax(1) == bench.dataset.y[bench.holdout]
    return agreed
