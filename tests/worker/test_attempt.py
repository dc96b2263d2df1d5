"""What an attempt tells its supervisor on the way."""

from types import SimpleNamespace

import numpy as np
from workers import in_a_row, wanted

from c2s import data, defaults
from worker import attempt


def told_by(dataset, chosen, folder):
    """Every message of an attempt, in order."""
    data.save(dataset, folder / "dataset")
    said = []
    channel = SimpleNamespace(say=lambda kind, **facts: said.append({"kind": kind} | facts))
    asked = {"threads": 1, "run": folder / "run", "dataset": folder / "dataset", "device": "cpu"}
    attempt.run(asked, attempt.Teller(channel), defaults.resolve(chosen, dataset.shape, len(dataset)))
    return said


def test_progress_goes_on_while_stage_1_does(tmp_path):
    stage1 = {"epochs": 8, "batch_size": 64, "rounds": 3}
    chosen = wanted(3, stage1=stage1, net="auto", transition={"posteriors": "k-fold", "folds": 2})
    said = told_by(in_a_row(600), chosen, tmp_path)
    steps = [one["step"] if one["kind"] == "epoch" else None for one in said]
    rounds = [place for place, step in enumerate(steps) if step is not None and "-round-" in step]
    assert steps[rounds[-1]].startswith("stage1-round-")  # it did go on
    after = [next(one["fraction"] for one in said[place:] if one["kind"] == "progress") for place in rounds]
    assert np.all(np.diff(after) > 0)
