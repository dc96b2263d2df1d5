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

from c2s import cards, config, data, defaults, naming
from c2s.exporting import export
from c2s.judging import diagnosis, testimony
from c2s.learning import checkpoint, evaluation
from c2s.learning.training import Fitted
from c2s.matrix import calibration, estimation, transition
from c2s.methods.matrices import Matrix
from c2s.nets import classifier
from c2s.running import auto, dossier, remarks
from c2s.running.findings import Findings
from c2s.running.workbench import Workbench

FEW_ROWS = 20  # of a class: below, its row of T_c rests on a handful of labels
TRIED = 64  # rows that the exported graph must answer as the net does


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


def estimated(bench: Workbench, found: Findings) -> dict[str, Any]:
    """What is known of the labels before stage 2; a method that learns T supersedes it."""
    known = found.evidence
    matrices = _matrices(bench, known.T_c, known.priors, (found.estimator, found.alternatives))
    told = None if found.bounds is None else found.bounds.plain()
    matrices |= {"interval": told, "choice": found.choice, "rows": found.rows}
    rate = transition.noise_rates(known.T_c, known.priors).class_
    notes = diagnosis.edge_notes(
        found.bounds, rate, found.alternatives, bench.dataset.y, read_off=found.read_off
    )
    notes += testimony.notes(bench.dataset, bench.train, known.T_c)
    return {"labels": list(bench.dataset.labels), "transition": matrices, "notes": notes}


def publish(
    bench: Workbench, found: Findings, kept: Fitted, *, hidden: bool, choice: auto.Choice | None = None
) -> Result:
    """Write the model folder and return what it says; a run that already published keeps its model."""
    T_c, priors, estimator = found.evidence.T_c, found.evidence.priors, found.estimator
    bounds, why, rows, read_off = found.bounds, found.choice, found.rows, found.read_off
    counts = np.bincount(bench.dataset.y, minlength=len(T_c))
    if kept.phase == "stage2" and kept.learnt:  # the method's own T supersedes the one it started from
        T_c, estimator = kept.T_c, bench.config.method.name
        why = f"The method learnt the matrix itself, from that of {found.estimator} on."
        priors, rows = transition.clean_priors(T_c, counts), len(bench.train)
        bounds, read_off = found.bounds_of(T_c, bench.dataset.y, bench.config.seed), False
    rates = transition.noise_rates(T_c, priors)
    notes = (
        *remarks.on_model(bench, kept, T_c, hidden=hidden),
        *remarks.on_choice(choice),
        *remarks.on_settings(bench),
        *transition.learnability(T_c, priors, bench.dataset.classes).warnings,
        *diagnosis.edge_notes(bounds, rates.class_, found.alternatives, bench.dataset.y, read_off=read_off),
        *testimony.notes(bench.dataset, bench.train, T_c),
        *_class_notes(bench, found, counts),
        *defaults.held_notes(len(bench.holdout), len(T_c)),
    )
    alternatives = found.alternatives | {estimator: T_c}
    honest = _calibration(bench, kept, T_c)
    net = kept.net if honest.temperature == 1 else classifier.tempered(kept.net, honest.temperature)
    matrices = _matrices(bench, T_c, priors, (estimator, alternatives))
    matrices |= {"interval": None if bounds is None else bounds.plain(), "choice": why, "rows": rows}
    card = _card(bench, kept, notes) | {"transition": matrices, "calibration": honest.plain()}
    card["chosen"] = None if choice is None else choice.plain()
    witness = T_c if bounds is None else transition.doubted(T_c, rows * priors)  # a given one at its word
    dossier.leave(bench, kept, T_c, witness=witness, bounds=bounds, notes=notes, unknown=found.flagged)
    folder = bench.folder / "model"
    if not folder.exists():
        checkpoint.save_model(folder, net, card, _graph(bench, net))
    return Result(
        net=net,
        kept=kept.phase,
        T_c=T_c,
        T_s=transition.similarity_from_class(T_c, priors),
        priors=priors,
        rates=rates,
        estimator=estimator,
        alternatives=alternatives,
        notes=notes,
        history=bench.history,
        config=bench.config,
        card=cards.load(folder),
        folder=folder,
    )


def _calibration(bench: Workbench, kept: Fitted, T_c: Matrix) -> calibration.Calibration:
    """How sure the classifier may be, by the rows held out at random."""
    rows = np.sort(bench.fair)
    posterior = evaluation.posterior(kept.net, bench.source, rows)
    return calibration.fit(posterior, bench.dataset.y[rows], T_c)


def _graph(bench: Workbench, net: nn.Module) -> bytes:
    """What serves the model, tried on rows that were held out."""
    dataset, rows = bench.dataset, np.sort(bench.holdout)[:TRIED]
    some = dataset.x.take(rows) if isinstance(dataset.x, data.Bags) else dataset.x[rows]
    return export.checked(net, dataset.shape, dataset.labels, some)


def _class_notes(bench: Workbench, found: Findings, counts: npt.NDArray[np.int64]) -> list[str]:
    """Classes of which too little was seen."""
    notes = []
    if names := [bench.dataset.classes[k] for k in found.flagged]:
        notes.append(f"Nothing is known about the noise of {naming.some(names)}: taken as clean.")
    if names := [bench.dataset.classes[k] for k in np.flatnonzero(counts < FEW_ROWS)]:
        notes.append(f"With fewer than {FEW_ROWS} rows the noise of {naming.some(names)} is a guess.")
    return notes


def _matrices(
    bench: Workbench, T_c: Matrix, priors: npt.NDArray[np.float64], found: tuple[str, dict[str, Matrix]]
) -> dict[str, Any]:
    estimator, alternatives = found
    T_s = transition.similarity_from_class(T_c, priors)
    rates = transition.noise_rates(T_c, priors)
    about = transition.learnability(T_c, priors)
    distances = estimation.compare(alternatives, estimator)
    said = {"gold": testimony.words(bench.dataset, alternatives["gold"])} if "gold" in alternatives else {}
    came = testimony.as_given(bench.dataset, T_c)
    return {
        "orientation": "rows_clean_cols_noisy",
        "matrix": T_c.tolist(),
        "as_given": None if came is None else came.tolist(),  # of labels before some were put right
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
            name: {"matrix": T.tolist(), "distance": distances.get(name, 0.0), "note": said.get(name)}
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
        "put_right": testimony.put_right(dataset),
        "kept": kept.phase,
        "notes": list(notes),
        "history": [{k: v for k, v in entry.items() if k != "seconds"} for entry in bench.history],
        "versions": {
            "c2s": importlib.metadata.version("c2s"),
            "torch": torch.__version__,
            "python": platform.python_version(),
        },
        "device": str(bench.device),
    }
