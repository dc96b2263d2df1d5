"""What the runs of one cell have in common: stage 1, and what T_c is estimated from, are trained once and shared.

Both depend on seed and config alone, so a run that borrows them ends where it would have ended by itself. They are
kept as the phase folders that `pipeline.run` resumes from.
"""

import contextlib
import hashlib
import json
import shutil
from collections.abc import Mapping
from pathlib import Path

from c2s import config

Shelves = Mapping[str, Path]  # pattern of the phases -> where they are kept


def shelves(root: Path, cell: Mapping[str, object], chosen: config.TrainConfig) -> Shelves:
    """Where each part is kept: stage 1 knows nothing of the estimate, the rest does; `auto` chooses its own folds."""
    first = {**cell, **chosen.model_dump(mode="json", include={"net", "stage1", "validation", "seed"})}
    rest = {**first, **chosen.model_dump(mode="json", include={"transition"})}
    estimate = chosen.transition
    asked = isinstance(estimate, config.Estimate) and estimate.folds_asked
    if isinstance(chosen.method, config.Auto) and not asked:
        rest["folds"] = chosen.method.name
    return {"stage1": root / _name(first)} | dict.fromkeys(
        ("stage1-*", "fold-*", "posterior", "joint"), root / _name(rest)
    )


def borrow(kept: Shelves, folder: Path) -> list[str]:
    """Copy what there is into a run's folder, part by part and each whole; the names of what was copied."""
    found = [part for pattern, shelf in kept.items() for part in sorted(shelf.glob(pattern))]
    missing = [part for part in found if not (folder / part.name).exists()]
    for part in missing:
        draft = folder / f"{part.name}.borrowed"
        shutil.rmtree(draft, ignore_errors=True)
        shutil.copytree(part, draft)
        draft.rename(folder / part.name)
    return [part.name for part in missing]


def keep(kept: Shelves, folder: Path) -> None:
    """Put a finished run's parts where the next run finds them."""
    for pattern, shelf in kept.items():
        for part in folder.glob(pattern):
            shelf.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(OSError):  # another run was first, with the same bits
                part.rename(shelf / part.name)


def _name(facts: Mapping[str, object]) -> str:
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]
