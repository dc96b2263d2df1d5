"""One run of an experiment is one line of the results file; a finished run is not repeated, a cut one is resumed."""

import contextlib
import fcntl
import hashlib
import itertools
import json
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from c2s import config, data, errors, pipeline, streams
from c2s.learning import evaluation, training
from c2s.learning.precision import halves
from c2s.matrix import estimation, noise, transition
from c2s.paper import cells, forms, groundwork, human, measures, results, settings, sources, version
from c2s.paper.source import Source
from c2s.running import workbench

GIVEN = (*human.CIFAR10N, human.MAJORITY, human.ONE_ANSWER, human.RULES)  # labels that come with the data
RESULTS = "results.jsonl"
GROUNDWORK = "groundwork"  # may be deleted: it is trained again
Told = Callable[["Run", results.Row | None], None]  # None: the run begins


@dataclass(frozen=True)
class Run:
    """One cell at one seed; `eta` hands over the true T_c, perturbed by that much, instead of an estimate."""

    dataset: str
    noise: str
    method: str
    preset: str = "paper"
    seed: int = 1
    subset: int | None = None  # train on the first rows only, for a quick check
    eta: float | None = None

    @property
    def true_matrix(self) -> transition.Matrix | None:
        """T_c of the noise that is added; there is none where the labels were wrong already."""
        if self.noise in (cells.REAL, *GIVEN):
            return None
        return settings.matrix(self.noise, settings.recipe_of(self.dataset).classes)

    @property
    def config(self) -> config.TrainConfig:
        given = None if self.eta is None else self._handed_over(self.eta)
        return settings.build(self.preset, self.dataset, self.method, seed=self.seed, given=given)

    @property
    def key(self) -> str:
        """A name that changes with anything that changes the run."""
        facts = asdict(self) | {"config": self.config.model_dump(mode="json")}
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]

    def _handed_over(self, eta: float) -> transition.Matrix:
        T_c = self.true_matrix
        if T_c is None:
            raise errors.InvalidConfig(f"the true T_c of {self.dataset} is not known, so it cannot be given")
        if eta == 0:
            return T_c
        return transition.perturb(T_c, eta, rng=streams.numpy(self.seed, "perturbation"))


def grid(
    datasets: Iterable[str],
    noises: Iterable[str],
    methods: Iterable[str],
    *,
    preset: str = "paper",
    seeds: Iterable[int] = (1,),
    subset: int | None = None,
) -> list[Run]:
    """Every combination, seed by seed, so that a long grid gives whole tables early."""
    cases = itertools.product(seeds, datasets, noises, methods)
    return [Run(dataset, noise, method, preset, seed, subset) for seed, dataset, noise, method in cases]


def run_many(
    runs: Iterable[Run],
    *,
    out: Path,
    data_folder: Path | None = None,
    device: str = "cpu",
    precision: config.Precision = "float32",
    report: training.Report = training.quiet,
    told: Told = lambda run, row: None,
) -> list[results.Row]:
    """Run what is not finished yet, one after the other; what another process is at is left to it."""
    loaded: dict[str, Source] = {}
    rows = []
    for run in runs:
        with _claimed(run, out) as claimed:
            if not claimed:
                continue
            if run.dataset not in loaded:
                loaded = {run.dataset: sources.load(run.dataset, data_folder)}  # one in memory at a time
            told(run, None)
            source = loaded[run.dataset]
            rows.append(run_cell(run, source, out=out, device=device, precision=precision, report=report))
            told(run, rows[-1])
    return rows


@contextlib.contextmanager
def _claimed(run: Run, out: Path) -> Iterator[bool]:
    """Whether this process has the run to itself and it is still to do."""
    out.mkdir(parents=True, exist_ok=True)
    lock = out / f"{run.key}.lock"
    with lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield not _finished(run, out)
    lock.unlink(missing_ok=True)


def _finished(run: Run, out: Path) -> results.Row | None:
    rows = results.read(out / RESULTS)
    return next((row for row in reversed(rows) if row["key"] == run.key), None)


def run_cell(
    run: Run,
    source: Source,
    *,
    out: Path,
    device: str = "cpu",
    precision: config.Precision = "float32",
    report: training.Report = training.quiet,
) -> results.Row:
    """The run's line: read if it is finished, else trained, from where an earlier attempt stopped, and written.

    Like the device, the precision is how a run is computed and not which run it is; the line has the one that was used.
    """
    if row := _finished(run, out):
        return row
    device = workbench.pick_device(device)
    if not halves(precision, torch.device(device)):
        precision = "float32"
    row = _identity(run, device) | {"precision": precision}
    if (twin := forms.twin(row, results.read(out / RESULTS))) is not None:
        row = twin | row | {"same_as": twin["key"], "seconds": 0.0}
        results.append(out / RESULTS, row)
        return row
    folder = out / f"{run.key}-{version.source()}-{precision}"  # what other source began is begun anew
    row |= {"resumed": folder.exists()}
    chosen = settings.computed_in(run.config, precision)
    cell = {"dataset": run.dataset, "noise": run.noise, "subset": run.subset, "source": version.source()}
    shelves = groundwork.shelves(out / GROUNDWORK, cell, chosen)
    row |= {"borrowed": groundwork.borrow(shelves, folder)}
    began = time.perf_counter()
    try:
        row |= _outcome(run, source, chosen, folder, device=device, report=report)
        groundwork.keep(shelves, folder)
    except (errors.Diverged, errors.NotLearnable) as exc:  # it would end so again: a result, not an accident
        row |= {"failure": str(exc)}
    row |= {"seconds": round(time.perf_counter() - began, 2)}
    results.append(out / RESULTS, row)
    for left in out.glob(f"{run.key}-*"):
        shutil.rmtree(left, ignore_errors=True)  # thousands of runs would fill the disk
    return row


def _outcome(
    run: Run,
    source: Source,
    chosen: config.TrainConfig,
    folder: Path,
    *,
    device: str,
    report: training.Report,
) -> dict[str, Any]:
    part = source if run.subset is None else source.first(run.subset)
    y = _labels(run, part)
    T_c = _truth(run, part, y)

    def probe(net: torch.nn.Module) -> dict[str, float]:
        return {"test": evaluation.accuracy(net, part.x_test, part.y_test, device)}

    result = pipeline.run(part.labelled(y), chosen, folder, device=device, report=report, probe=probe)
    found = {
        "rows": len(y),
        "noise_rate": float((y != part.y).mean()) if run.noise != cells.REAL else None,
        "accuracy": evaluation.accuracy(result.net, part.x_test, part.y_test, device),
        "estimator": result.estimator,
        "form": forms.held_to(result.config.method, result.T_c, result.priors),
        "kept": result.kept,
        "notes": list(result.notes),
    }
    off = measures.matrix_errors(result.T_c, result.alternatives, T_c)
    return found | measures.accuracies(result.history, result.kept) | off


def _labels(run: Run, part: Source) -> data.Labels:
    """The labels that a run is trained with: the data's own, those that people gave, or noise added to the truth."""
    if run.noise in GIVEN:
        if run.noise not in part.given:
            known = ", ".join(part.given) or "none"
            raise errors.InvalidConfig(f"{run.dataset} has no labels {run.noise!r}: {known}")
        return part.given[run.noise]
    T_c = run.true_matrix
    return part.y if T_c is None else noise.corrupt(part.y, T_c, rng=streams.numpy(run.seed, "flips"))


def _truth(run: Run, part: Source, y: data.Labels) -> transition.Matrix | None:
    """T_c of the noise that was added; of labels that came with the data, what they made of the true classes."""
    if run.noise in GIVEN:
        return estimation.from_gold(part.y, y, len(part.labels)).T
    return run.true_matrix


def _identity(run: Run, device: str) -> results.Row:
    return asdict(run) | {
        "key": run.key,
        "config": run.config.model_dump(mode="json"),
        "commit": version.commit(),
        "source": version.source(),
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        "device": device,
    }
