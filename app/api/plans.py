"""What a job would do: its config with nothing left open, what it needs to run again, and a forecast; without torch."""

import contextlib
import dataclasses
import functools
import importlib.metadata
import platform
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from app.api import deps, matrices, obstacles
from app.core import tracing
from app.core.settings import Settings
from app.core.tables import Dataset
from c2s import config, defaults, naming, splits, trainings
from c2s import errors as library
from c2s.judging import advice, merging, testimony
from c2s.matrix import transition
from c2s.shape import Shape

FEW_ROWS = 20  # of a class: below, what is said about its noise rests on a handful of labels
PAIRED = (config.Mcl, config.ForwardSimi, config.ReweightSimi, config.PruneSimi)


class Training(deps.Out):
    """A training of the run."""

    name: str
    epochs: int
    rows: int  # of an epoch
    nets: int  # that learn from every batch
    steps: int  # batches that a net learns from: of two nets each counts


class Forecast(deps.Out):
    """What can be said before anything is trained; the noise only where its matrix is given."""

    rows: int
    training_rows: int  # gold rows are held out: of a dataset that has some, to a few rows
    classes: int
    trainings: list[Training]  # in their order
    steps: int  # of all of them; rows that a method leaves out, and epochs that patience saves, are not known yet
    most_steps: int  # where stage 1 goes on for all its rounds, and wavers, so that the matrix is learnt too
    similar_pairs_per_batch: float  # expected, in stage 2
    noise: matrices.Noise | None
    advice: matrices.Advice
    warnings: list[str]


def resolve(chosen: config.TrainConfig, dataset: Dataset) -> config.TrainConfig:
    """The config that will run, or what is wrong with it."""
    about = dataclasses.replace(_shape(dataset), classes=len(_counts(dataset, chosen)))
    resolved = defaults.resolve(chosen, about, _rows(dataset))
    obstacles.check_net(resolved.net, about)
    obstacles.check_share(resolved.validation, _counts(dataset, chosen))
    if isinstance(resolved.transition, config.Given):
        T_c = transition.check(resolved.transition.matrix)  # noqa: N806 - the paper's letter
        if len(T_c) != about.classes:
            raise obstacles.wrong(
                "/transition/matrix",
                "invalid_transition",
                f"the dataset has {_named(dataset, chosen).counted()}, the matrix is for {len(T_c)}",
            )
        obstacles.check_given(resolved.method, T_c, _counts(dataset, chosen))
    elif resolved.transition.estimator == "gold":
        obstacles.check_gold(sum(_counts(dataset, chosen, of="gold")), about.classes)
    return resolved


def manifest(chosen: config.TrainConfig, dataset: Dataset, settings: Settings) -> dict[str, Any]:
    """All that is needed to run the job again and get the same bits."""
    return {
        "config": chosen.model_dump(mode="json"),
        "seed": chosen.seed,
        "dataset": {
            "id": dataset.id,
            "name": dataset.name,
            "rows": dataset.rows,
            "sha256": dataset.sha256,
            "class_rows": _counts(dataset, chosen),
        },
        "threads": settings.threads,
        "device": settings.device,
        "versions": _versions(),
        "origin": tracing.origin(),
    }


def forecast(chosen: config.TrainConfig, dataset: Dataset) -> Forecast:
    """What to expect of a resolved config."""
    counts, rows = _counts(dataset, chosen), _rows(dataset)
    spared = _spared(dataset, chosen)
    planned = trainings.planned(chosen, counts, spared=spared)
    longest = trainings.planned(chosen, counts, spared=spared, onward=True, wavers=True)
    steps, most = (sum(one.steps for one in some) for some in (planned, longest))
    training_rows = planned[0].rows
    batch = chosen.stage2.batch_size or defaults.BATCH
    pairs = transition.similar_pairs(min(batch, training_rows), counts)
    found, advised = None, advice.blind(len(counts), rows=training_rows)
    if isinstance(chosen.transition, config.Given):
        T_c = transition.check(chosen.transition.matrix)  # noqa: N806
        priors = transition.clean_priors(T_c, counts)
        found = matrices.about(T_c, priors, _named(dataset, chosen).classes)
        advised = advice.advise(T_c, priors, rows=training_rows)
    return Forecast(
        rows=rows,
        training_rows=training_rows,
        classes=len(counts),
        trainings=[Training.model_validate(one) for one in planned],
        steps=steps,
        most_steps=max(steps, most),
        similar_pairs_per_batch=pairs,
        noise=found,
        advice=matrices.Advice.model_validate(advised),
        warnings=_warnings(chosen, dataset, pairs) + (found.learnability.warnings if found else []),
    )


def _warnings(chosen: config.TrainConfig, dataset: Dataset, pairs: float) -> list[str]:
    counts = _counts(dataset, chosen)
    found = []
    if isinstance(chosen.method, PAIRED) and pairs < defaults.SIMILAR_PAIRS:
        found.append(
            f"A batch holds about {pairs:.0f} similar pairs, fewer than {defaults.SIMILAR_PAIRS}:"
            " a larger batch_size of stage2 would teach more."
        )
    found += few_rows(counts)
    held = splits.held(counts, chosen.validation) + _spared(dataset, chosen)
    return found + defaults.held_notes(held, len(counts))


def few_rows(counts: Sequence[int]) -> list[str]:
    """What to think of a matrix of classes that have next to no rows."""
    few = sum(count < FEW_ROWS for count in counts)
    said = f"{few} of {len(counts)} classes have fewer than {FEW_ROWS} rows:"
    return [f"{said} what is said about their noise is a guess."] if few else []


def _shape(dataset: Dataset) -> Shape:
    return Shape(**(dataset.shape or {}))


def _rows(dataset: Dataset) -> int:
    return dataset.rows or 0


def _spared(dataset: Dataset, chosen: config.TrainConfig) -> int:
    """Gold rows that are held out so that they can judge."""
    counts, gold = _counts(dataset, chosen), _counts(dataset, chosen, of="gold")
    return testimony.likely_spared(counts, gold, chosen.validation)


def _counts(
    dataset: Dataset, chosen: config.TrainConfig, *, of: Literal["rows", "gold"] = "rows"
) -> list[int]:
    """Rows of each class, or the gold ones, those that the job merges counted together."""
    classes = (dataset.report or {})["classes"]
    become = _named(dataset, chosen).become
    counts: list[int] = np.bincount(become, weights=[one.get(of, 0) for one in classes]).astype(int).tolist()
    return counts


def _named(dataset: Dataset, chosen: config.TrainConfig) -> naming.Naming:
    """The classes of the dataset, and those that the job makes of them."""
    try:
        return merging.named([one["name"] for one in (dataset.report or {})["classes"]], chosen.merge)
    except library.InvalidConfig as exc:
        raise obstacles.wrong("/merge", "invalid_config", str(exc)) from exc


@functools.cache
def _versions() -> dict[str, str]:
    """Of this installation: one that only serves has no torch, and the model's card tells what it was trained with."""
    found = {"python": platform.python_version()}
    for name in ("c2s", "torch", "numpy"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found
