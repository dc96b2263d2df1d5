"""A dataset of which some labels are put right, and what to tell its owner; the bytes are ours and were read before."""

import time
from pathlib import Path
from typing import Any

import numpy as np

from app.intake import duplicates, excerpts, report
from c2s import corrections, data


def correct(parent: Path, changes: Path, target: Path, before: dict[str, Any]) -> dict[str, Any]:
    """Make the folder `target`; the answer is the report, by that of the parent."""
    started = time.monotonic()
    found = corrections.Changes.load(changes)
    found.apply(parent, target, beside=(excerpts.FILE,))
    dataset = data.load(target)
    counts = np.bincount(dataset.y, minlength=len(dataset.labels)).tolist()
    classes = [{"name": name, "rows": rows} for name, rows in zip(dataset.classes, counts, strict=True)]
    _, conflicting = duplicates.find(dataset)
    reviewed = int(found.reviewed.sum())
    return before | {
        "classes": classes,
        "imbalance": round(max(counts) / min(counts), 4),
        "conflicting": conflicting.model_dump(),
        "refused": report.RefusedRows().model_dump(mode="json"),
        "notes": [],
        "corrections": {"reviewed": reviewed, "by_threshold": len(found.rows) - reviewed, "gold": found.gold},
        **_sample(before, dataset),
        "sha256": dataset.digest(),
        "seconds": round(time.monotonic() - started, 3),
    }


def _sample(before: dict[str, Any], dataset: data.Dataset) -> dict[str, Any]:
    """The first rows, where the report shows them, under their new labels."""
    if not before.get("sample"):
        return {}
    rows = [
        row | {"label": dataset.classes[dataset.y[place]]}
        for place, row in enumerate(before["sample"]["rows"])
    ]
    return {"sample": before["sample"] | {"rows": rows}}
