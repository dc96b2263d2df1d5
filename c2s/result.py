"""What a run ends with: the kept classifier, the matrices that belong to it, and the card that tells all of it."""

import importlib.metadata
import platform
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from c2s import checkpoint, config, estimation, transition
from c2s.findings import Findings
from c2s.matrices import Matrix
from c2s.training import Fitted
from c2s.workbench import Workbench


@dataclass(frozen=True)
class Result:
    """The clean classifier and what was learnt about the labels on the way."""

    net: nn.Module
    kept: str  # the phase whose model this is
    T_c: Matrix
    T_s: Matrix
    priors: npt.NDArray[np.float64]  # clean
    rates: transition.NoiseRates
    estimator: str
    alternatives: dict[str, Matrix]
    notes: tuple[str, ...]
    history: list[dict[str, Any]]
    config: config.TrainConfig  # resolved
    card: dict[str, Any]
    folder: Path  # of the model


def publish(bench: Workbench, found: Findings, kept: Fitted) -> Result:
    """Write the model folder and return what it says; a run that already published keeps its model."""
    T_c, estimator = found.evidence.T_c, found.estimator
    if kept.phase == "stage2" and kept.learnt:  # the method's own T supersedes the one it started from
        T_c, estimator = kept.T_c, bench.config.method.name
    counts = np.bincount(bench.dataset.y, minlength=len(T_c))
    priors = transition.clean_priors(T_c, counts)
    notes = _notes(bench, found, kept, transition.learnability(T_c, priors))
    alternatives = found.alternatives | {estimator: T_c}
    card = _card(bench, kept, notes) | {"transition": _matrices(T_c, priors, estimator, alternatives)}
    folder = bench.folder / "model"
    if not folder.exists():
        checkpoint.save_model(folder, kept.net, card)
    return Result(
        net=kept.net,
        kept=kept.phase,
        T_c=T_c,
        T_s=transition.similarity_from_class(T_c, priors),
        priors=priors,
        rates=transition.noise_rates(T_c, priors),
        estimator=estimator,
        alternatives=alternatives,
        notes=notes,
        history=bench.history,
        config=bench.config,
        card=checkpoint.load_card(folder),
        folder=folder,
    )


def _notes(
    bench: Workbench, found: Findings, kept: Fitted, learnability: transition.Learnability
) -> tuple[str, ...]:
    """What a user must know about this result, in words."""
    notes = list(learnability.warnings)
    if kept.phase != "stage2":
        notes.insert(
            0,
            f"Stage 2 ({bench.config.method.name}) agreed clearly less with the held-out noisy labels than the"
            f" model of {kept.phase}, so that model is kept.",
        )
    names = [bench.dataset.classes[k] for k in found.flagged]
    if names:
        notes.append(f"Nothing is known about the noise of {', '.join(names)}: taken as clean.")
    return tuple(notes)


def _matrices(
    T_c: Matrix, priors: npt.NDArray[np.float64], estimator: str, alternatives: dict[str, Matrix]
) -> dict[str, Any]:
    T_s = transition.similarity_from_class(T_c, priors)
    rates = transition.noise_rates(T_c, priors)
    about = transition.learnability(T_c, priors)
    distances = estimation.compare(alternatives, estimator)
    return {
        "orientation": "rows_clean_cols_noisy",
        "matrix": T_c.tolist(),
        "priors": priors.tolist(),
        "similarity": {"t00": T_s[0, 0], "t01": T_s[0, 1], "t10": T_s[1, 0], "t11": T_s[1, 1]},
        "noise_rate": {"class": rates.class_, "similarity": rates.similarity},
        "reduces_noise": about.reduces_noise,
        "learnability": {
            "t00_plus_t11": about.t00_plus_t11,
            "rank": about.rank,
            "condition_number": about.condition_number if np.isfinite(about.condition_number) else None,
            "diagonally_dominant": about.diagonally_dominant,
        },
        "estimator": estimator,
        "alternatives": {
            name: {"matrix": T.tolist(), "distance": distances.get(name, 0.0)}
            for name, T in alternatives.items()
        },
    }


def _card(bench: Workbench, kept: Fitted, notes: tuple[str, ...]) -> dict[str, Any]:
    dataset = bench.dataset
    return {
        "config": bench.config.model_dump(mode="json"),
        "kind": dataset.kind,
        "shape": dataset.shape.plain(),
        "labels": list(dataset.labels),
        "encoding": dataset.encoding,
        "dataset": {"rows": len(dataset), "sha256": dataset.digest()},
        "kept": kept.phase,
        "notes": list(notes),
        "history": bench.history,
        "versions": {
            "c2s": importlib.metadata.version("c2s"),
            "torch": torch.__version__,
            "python": platform.python_version(),
        },
        "device": str(bench.device),
    }
