"""Wrong labels found and put right, against gold, beside cleanlab 2.9 on the same probabilities and at its best.

cleanlab lives in an environment of its own (`.venv/cleanlab`) and answers over files. Its best setting is the best, by
gold and so in hindsight, of its three scores with and without adjusted probabilities, and of a logistic regression that
it cross-validates itself on the rows. Ours is one setting for all sets.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import issues_sets
import numpy as np
import torch

from c2s import estimation, issues
from c2s.paper import sources

RIVAL = Path(__file__).with_name("rival_cleanlab.py")
ROWS, CLASSES = 1_000_000, 10


def precision(score, wrong):
    """Average precision of an order, the highest score first."""
    hits = wrong[np.argsort(-score, kind="stable")]
    return float((np.cumsum(hits) / np.arange(1, len(hits) + 1))[hits].mean())


def ours(P, y):
    """The score of every row, and its corrected label."""
    judged = issues.judge(P, y, estimation.confident_joint(P, y).T, trusted=issues.trusts(P, y))
    decided = issues.decide(y, judged)
    return (
        judged.score,
        np.where(decided == issues.DECISIONS.index("corrected"), judged.suggested, y),
        decided,
    )


def rival(folder, name, *flags):
    """What cleanlab says of the same file."""
    python = Path(".venv/cleanlab/bin/python")
    done = subprocess.run([python, RIVAL, folder, name, *flags], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def compared(name, root, folder, seed):
    """A line of the table."""
    found = issues_sets.judged(name, root, folder, seed)
    P, y, gold = found["posterior"], found["given"], found["gold"]
    score, fixed, decided = ours(P, y)
    told = rival(folder, name)
    best = max(told["precision"], key=told["precision"].get)
    line = f"{name:<17}{(y != gold).mean():6.3f}{precision(score, y != gold):9.4f}"
    line += f"{told['precision']['self_confidence']:11.4f}{told['precision'][best]:9.4f} {best:<32}"
    shares = "/".join(f"{share:.2f}" for share in np.bincount(decided, minlength=3) / len(y))
    return line + f"{(fixed == gold).mean():7.3f}{told['corrected']:10.3f}   {shares}"


def large(folder):
    """Seconds and peak memory of a million rows, ours and theirs, each in a process of its own."""
    rng = np.random.default_rng(1)
    gold = rng.integers(CLASSES, size=ROWS)
    P = rng.dirichlet(np.ones(CLASSES), size=ROWS) * 0.4
    P[np.arange(ROWS), gold] += 0.6
    given = np.where(rng.random(ROWS) < 0.2, rng.integers(CLASSES, size=ROWS), gold)
    np.savez(folder / "large.npz", posterior=P, given=given, gold=gold)
    mine = subprocess.run(
        [sys.executable, __file__, "--only-time", folder], capture_output=True, text=True, check=True
    )
    return json.loads(mine.stdout), rival(folder, "large", "--only-time")


def timed(folder):
    """Ours on the large file."""
    found = np.load(folder / "large.npz", allow_pickle=False)
    P, y = found["posterior"], found["given"]
    before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    ours(P, y)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"seconds": time.process_time() - began, "megabytes": (peak - before) / 1024}))


def main():
    """The tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only-time", type=Path)
    parser.add_argument("--folder", type=Path, default=Path(".c2s/bench-issues"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sets", nargs="+", choices=issues_sets.NAMES, default=issues_sets.NAMES)
    chosen = parser.parse_args()
    if chosen.only_time:
        timed(chosen.only_time)
        return
    torch.set_num_threads(1)
    print(f"seed {chosen.seed}, one run a set; corrected: accuracy of the labels afterwards")
    head = "set               wrong  ours AP   cleanlab     best (by gold, of all its settings)    "
    print(head + " ours  cleanlab   kept/corrected/review")
    for name in chosen.sets:
        print(
            compared(name, sources.folder(), chosen.folder / f"seed-{chosen.seed}", chosen.seed), flush=True
        )
    if chosen.seed != 1 or chosen.sets != issues_sets.NAMES:  # a million rows take as long whatever the seed
        return
    with tempfile.TemporaryDirectory() as folder:
        mine, theirs = large(Path(folder))
    print(
        f"\n{ROWS} rows x {CLASSES} classes, CPU seconds and MB over the data: ours {mine}, cleanlab {theirs}"
    )


if __name__ == "__main__":
    main()
