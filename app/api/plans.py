"""What a job would do: its config with nothing left open, what it needs to run again, and a forecast; without torch."""

import contextlib
import dataclasses
import functools
import importlib.metadata
import itertools
import platform
from collections.abc import Sequence
from typing import Any

import numpy as np

from app.api import deps, matrices
from app.core import errors, tracing
from app.core.settings import Settings
from app.core.tables import Dataset
from c2s import advice, config, defaults, merging, transition
from c2s import errors as library
from c2s.shape import SMALLEST_SIDE, Shape

MOST_WEIGHTS = 2**28  # of a net: 1 GiB, and four times that with Adam and an average beside it
FEW_ROWS = 20  # of a class: below, what is said about its noise rests on a handful of labels
PAIRED = (config.Mcl, config.ForwardSimi, config.ReweightSimi, config.PruneSimi)
IMAGE_NETS = (config.LeNet, config.LeNet5, config.ShakeShake26, config.ResNet56, config.ResNet50)


class Forecast(deps.Out):
    """What can be said before anything is trained; the noise only where its matrix is given."""

    rows: int
    training_rows: int
    classes: int
    steps: int  # of both stages together
    similar_pairs_per_batch: float  # expected, in stage 2
    noise: matrices.Noise | None
    advice: matrices.Advice
    warnings: list[str]


def resolve(chosen: config.TrainConfig, dataset: Dataset) -> config.TrainConfig:
    """The config that will run, or what is wrong with it."""
    about = dataclasses.replace(_shape(dataset), classes=len(_counts(dataset, chosen)))
    resolved = defaults.resolve(chosen, about, _rows(dataset))
    _check_net(resolved.net, about)
    if isinstance(resolved.transition, config.Given):
        T_c = transition.check(resolved.transition.matrix)  # noqa: N806 - the paper's letter
        if len(T_c) != about.classes:
            raise _wrong(
                "/transition/matrix",
                "invalid_transition",
                f"the dataset has {about.classes} classes, the matrix is for {len(T_c)}",
            )
        _check_given(resolved.method, T_c, _counts(dataset, chosen))
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
    training_rows = max(2, round(rows * (1 - chosen.validation)))
    batch = chosen.stage2.batch_size or defaults.BATCH
    pairs = transition.similar_pairs(min(batch, training_rows), counts)
    found, advised = None, advice.blind(len(counts), rows=training_rows)
    if isinstance(chosen.transition, config.Given):
        T_c = transition.check(chosen.transition.matrix)  # noqa: N806
        priors = transition.clean_priors(T_c, counts)
        found, advised = matrices.about(T_c, priors), advice.advise(T_c, priors, rows=training_rows)
    stages = (chosen.stage1, chosen.stage2)
    return Forecast(
        rows=rows,
        training_rows=training_rows,
        classes=len(counts),
        steps=sum((stage.epochs or 0) * -(-training_rows // (stage.batch_size or 1)) for stage in stages),
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
    held = sum(min(count - 1, round(chosen.validation * count)) for count in counts)  # as c2s.data.split does
    return found + defaults.held_notes(max(1, held), len(counts))


def few_rows(counts: Sequence[int]) -> list[str]:
    """What to think of a matrix of classes that have next to no rows."""
    few = sum(count < FEW_ROWS for count in counts)
    said = f"{few} of {len(counts)} classes have fewer than {FEW_ROWS} rows:"
    return [f"{said} what is said about their noise is a guess."] if few else []


def _check_net(net: config.NetConfig, about: Shape) -> None:
    kinds = {"text"} if isinstance(net, config.TextNet) else {"vectors", "tabular"}
    if isinstance(net, IMAGE_NETS):
        kinds = {"image"}
    if about.kind not in kinds:
        wanted = " or ".join(sorted(kinds))
        detail = f"net {net.name} reads {wanted} rows, the dataset holds {about.kind} rows"
        raise _wrong("/net", "invalid_config", detail)
    if isinstance(net, config.LeNet | config.LeNet5) and about.image and min(about.image[:2]) < SMALLEST_SIDE:
        raise _wrong(
            "/net", "invalid_config", f"net {net.name} needs images of {SMALLEST_SIDE} pixels a side"
        )
    if isinstance(net, config.ShakeShake26) and net.width < 2:
        raise _wrong("/net/width", "invalid_config", "net shake-shake-26 needs a width of at least 2")
    if (weights := _weights(net, about)) > MOST_WEIGHTS:
        detail = f"the net would have {weights:,} weights, the most are {MOST_WEIGHTS:,}"
        raise _wrong("/net", "invalid_config", detail)


def _weights(net: config.NetConfig, about: Shape) -> int:
    """Of the nets whose sizes are a user's to choose, about; the others are known to fit."""
    match net:
        case config.Mlp():
            widths = [about.width or 0, *net.hidden, about.classes]
        case config.TextNet():
            widths = [about.width or 0, net.embedding, *net.hidden, about.classes]
        case config.ShakeShake26():
            return 2842 * net.width**2  # as it is built, from a width of 32 on
        case _:
            return 0
    return sum(before * after for before, after in itertools.pairwise(widths))


def _check_given(method: config.MethodConfig, T_c: transition.Matrix, counts: list[int]) -> None:  # noqa: N803
    """Refuse a matrix that the method can learn nothing under, before anything is trained."""
    if np.ptp(T_c, axis=0).max() < transition.HIDDEN_GAP:
        detail = "all rows are alike: such labels say nothing of the classes"
        raise _wrong("/transition/matrix", "invalid_transition", detail)
    if isinstance(method, config.ForwardSimi | config.ReweightSimi) and method.correction == "similarity":
        T_s = transition.similarity_from_class(T_c, transition.clean_priors(T_c, counts))  # noqa: N806
        if T_s[1, 1] - T_s[0, 1] <= transition.HIDDEN_GAP:
            detail = (
                'the matrix hides which pairs are similar: choose correction "exact" or the method "forward"'
            )
            raise _wrong("/transition/matrix", "invalid_transition", detail)


def _wrong(pointer: str, code: str, detail: str) -> errors.Invalid:
    return errors.Invalid(detail, code=code, errors=[{"pointer": pointer, "code": code, "detail": detail}])


def _shape(dataset: Dataset) -> Shape:
    return Shape(**(dataset.shape or {}))


def _rows(dataset: Dataset) -> int:
    return dataset.rows or 0


def _counts(dataset: Dataset, chosen: config.TrainConfig) -> list[int]:
    """Rows of each class, those that the job merges counted together."""
    classes = (dataset.report or {})["classes"]
    try:
        places = merging.places_of([entry["name"] for entry in classes], chosen.merge)
    except library.InvalidConfig as exc:
        raise _wrong("/merge", "invalid_config", str(exc)) from exc
    counts = np.bincount(places, weights=[entry["rows"] for entry in classes])
    return [int(counts[place]) for place in sorted(set(places))]


@functools.cache
def _versions() -> dict[str, str]:
    """Of this installation: one that only serves has no torch, and the model's card tells what it was trained with."""
    found = {"python": platform.python_version()}
    for name in ("c2s", "torch", "numpy"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found
