"""A dataset of which some labels are put right, and what to tell its owner; the bytes are ours and were read before."""

import time
from pathlib import Path
from typing import Any

import numpy as np

from app.intake import classes, duplicates, excerpts, report
from c2s import data, folders
from c2s.judging import corrections

MOST = 10  # merged classes that are named before the rest are counted


def correct(parent: Path, changes: Path, target: Path, before: dict[str, Any]) -> dict[str, Any]:
    """Make the folder `target`; the answer is the report, by that of the parent."""
    started = time.monotonic()
    found = corrections.Changes.load(changes)
    found.apply(parent, target, beside=(excerpts.FILE,))
    dataset = data.load(target)
    counts = np.bincount(dataset.y, minlength=len(dataset.labels)).tolist()
    _, conflicting = duplicates.find(dataset)
    reviewed = int(found.reviewed.sum())
    return before | {
        "classes": [one.model_dump() for one in classes.of(dataset)],
        "imbalance": round(max(counts) / min(counts), 4),
        "conflicting": conflicting.model_dump(),
        "refused": report.RefusedRows().model_dump(mode="json"),
        "notes": _merged(found, parent),
        "corrections": {"reviewed": reviewed, "by_threshold": len(found.rows) - reviewed, "gold": found.gold},
        **_sample(before, dataset),
        "sha256": dataset.digest(),
        "seconds": round(time.monotonic() - started, 3),
    }


def _merged(found: corrections.Changes, parent: Path) -> list[str]:
    """Labels of the parent that go by another class's name here because the job took the two for one."""
    names = [str(label) for label in folders.read_json(parent / "meta.json")["labels"]]
    rows = np.bincount(np.load(parent / "y.npy", allow_pickle=False), minlength=len(names))
    joined = [
        f"{name} is {names[found.kept[new]]} here ({rows[old]} rows): the job took these classes for one."
        for old, (name, new) in enumerate(zip(names, found.become.tolist(), strict=True))
        if new >= 0 and found.kept[new] != old
    ]
    return joined[:MOST] + [f"So are {len(joined) - MOST} other classes."] * (len(joined) > MOST)


def _sample(before: dict[str, Any], dataset: data.Dataset) -> dict[str, Any]:
    """The first rows, where the report shows them, under their new labels."""
    if not before.get("sample"):
        return {}
    rows = [
        row | {"label": dataset.classes[dataset.y[place]]}
        for place, row in enumerate(before["sample"]["rows"])
    ]
    return {"sample": before["sample"] | {"rows": rows}}
