"""Wrong labels found and put right, against gold, beside cleanlab 2.9 on the same probabilities and at its best.

cleanlab lives in an environment of its own (`.venv/cleanlab`) and answers over files. Its best setting is the best, by
gold and so in hindsight, of its three scores with and without adjusted probabilities, and of a logistic regression that
it cross-validates itself on the rows. Ours is one setting for all sets. Each line of `tests/bench/results/issues.jsonl`
is one set at one seed; what is there is not run again.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import issues_sets
import numpy as np
import torch

from c2s.judging import issues
from c2s.matrix import dependence, estimation, transition
from c2s.paper import results, sources, version

HERE = Path(__file__).parent
RIVAL = HERE / "rival_cleanlab.py"
RESULTS = HERE / "results" / "issues.jsonl"
DEFAULT, OWN = (
    "self_confidence",
    "own: ",
)  # of cleanlab's settings: the one of its manual, and its own model's
ROWS, CLASSES, ROUNDS = 1_000_000, 10, 3


def precision(score, wrong):
    """Average precision of an order, the highest score first."""
    hits = wrong[np.argsort(-score, kind="stable")]
    return float((np.cumsum(hits) / np.arange(1, len(hits) + 1))[hits].mean())


def ours(P, y):
    """The score of every row, its label after correction, and what was decided."""
    T_c = estimation.confident_joint(P, y).T
    witness = transition.doubted(
        T_c, len(y) * transition.clean_priors(T_c, np.bincount(y, minlength=len(T_c)))
    )
    judged = issues.judge(P, y, T_c, witness=witness, explained=dependence.examine(P, y, T_c).found)
    decided = issues.decide(y, judged)
    fixed = np.where(decided == issues.DECISIONS.index("corrected"), judged.suggested, y)
    return judged.score, fixed, decided


def rival(folder, name, *flags):
    """What cleanlab says of the same file."""
    python = Path(".venv/cleanlab/bin/python")
    done = subprocess.run([python, RIVAL, folder, name, *flags], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def compared(name, root, folder, seed):
    """A line of results."""
    found = issues_sets.judged(name, root, folder, seed)
    P, y, gold = found["posterior"], found["given"], found["gold"]
    score, fixed, decided = ours(P, y)
    told = rival(folder, name)
    settings = told["precision"]
    same = max((key for key in settings if not key.startswith(OWN)), key=settings.get)
    best = max(settings, key=settings.get)
    row = {
        "key": f"{name}/{seed}",
        "set": name,
        "seed": seed,
        "wrong": (y != gold).mean(),
        "ours": precision(score, y != gold),
        "cleanlab": settings[DEFAULT],
        "same": settings[same],
        "best": settings[best],
        "corrected": (fixed == gold).mean(),
        "cleanlab_corrected": told["corrected"],
    }
    shares = np.bincount(decided, minlength=len(issues.DECISIONS)) / len(y)
    row = {key: round(value, 4) if isinstance(value, float) else value for key, value in row.items()}
    row |= {"same_setting": same, "best_setting": best, "decisions": shares.round(3).tolist()}
    return row | {"rows": len(y), "commit": version.commit()}


def table(rows):
    """Means over seeds a set, in brackets the seeds at which ours is at least as high."""
    print(
        "set               seeds  wrong   ours  cleanlab  best, same P  best, own too  right: before  ours  cleanlab"
    )
    for name in issues_sets.NAMES:
        if mine := [row for row in rows if row["set"] == name]:
            mean = {key: statistics.fmean(row[key] for row in mine) for key in NUMBERS}
            won = {key: sum(row["ours"] >= row[key] for row in mine) for key in ("cleanlab", "same", "best")}
            print(
                f"{name:<17}{len(mine):6}{mean['wrong']:7.3f}{mean['ours']:7.3f}"
                f"{mean['cleanlab']:7.3f} ({won['cleanlab']}){mean['same']:8.3f} ({won['same']})"
                f"{mean['best']:11.3f} ({won['best']}){1 - mean['wrong']:13.3f}"
                f"{mean['corrected']:9.3f}{mean['cleanlab_corrected']:7.3f}"
            )


NUMBERS = ("wrong", "ours", "cleanlab", "same", "best", "corrected", "cleanlab_corrected")


def large(folder):
    """CPU seconds and peak memory of a million rows, ours and theirs in turns, each in a process of its own."""
    rng = np.random.default_rng(1)
    gold = rng.integers(CLASSES, size=ROWS)
    P = rng.dirichlet(np.ones(CLASSES), size=ROWS) * 0.4
    P[np.arange(ROWS), gold] += 0.6
    given = np.where(rng.random(ROWS) < 0.2, rng.integers(CLASSES, size=ROWS), gold)
    np.savez(folder / "large.npz", posterior=P, given=given, gold=gold)
    command = [sys.executable, __file__, "--only-time", folder]
    turns = []
    for _ in range(ROUNDS):
        mine = subprocess.run(command, capture_output=True, text=True, check=True)
        turns.append((json.loads(mine.stdout), rival(folder, "large", "--only-time")))
    for who, told in zip(("ours", "cleanlab"), zip(*turns, strict=True), strict=True):
        seconds, megabytes = (statistics.median(one[key] for one in told) for key in ("seconds", "megabytes"))
        print(
            f"{ROWS} rows x {CLASSES} classes, {who}: {seconds:.2f} CPU s, {megabytes:.0f} MB over the data"
        )


def timed(folder):
    """Ours on the large file."""
    found = np.load(folder / "large.npz", allow_pickle=False)
    P, y = found["posterior"], found["given"]
    before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    np.argsort(-ours(P, y)[0], kind="stable")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"seconds": time.process_time() - began, "megabytes": (peak - before) / 1024}))


def main():
    """Run what has no line yet, and print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only-time", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, default=Path(".c2s/bench-issues"))
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--sets", nargs="*", choices=issues_sets.NAMES, default=issues_sets.NAMES)
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--large", action="store_true", help="time a million rows as well")
    chosen = parser.parse_args()
    if chosen.only_time:
        timed(chosen.only_time)
        return
    torch.set_num_threads(1)
    done = {row["key"] for row in results.read(chosen.out)}
    for name in chosen.sets:
        for seed in chosen.seeds:
            if f"{name}/{seed}" not in done:
                row = compared(name, sources.folder(), chosen.folder / f"seed-{seed}", seed)
                results.append(chosen.out, row)
    wanted = {f"{name}/{seed}" for name in chosen.sets for seed in chosen.seeds}
    table([row for row in results.read(chosen.out) if row["key"] in wanted])
    if chosen.large:
        with tempfile.TemporaryDirectory() as folder:
            large(Path(folder))


if __name__ == "__main__":
    main()
