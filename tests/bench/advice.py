"""How often the advised method is the best of ten, or within a point of it, in settings whose accuracies are known.

What the advice would see is rebuilt without training a net: a logistic regression is cross-fitted on the noisy labels
of each setting and T_c is refined from its posteriors (`estimated`, as for `/transition`); where the noise was added,
T_c itself is taken as well (`given`), as a dry run with a matrix does. The rule was made with `results/auto.jsonl` in
sight (33 settings, seed 1); the settings of `FRESH` were trained afterwards (`--train`), at seed 2.
"""

import argparse
import sys
import warnings
from pathlib import Path

import auto
import auto_worlds
import numpy as np
import torch
from sklearn.linear_model import LogisticRegression

from c2s.judging import advice
from c2s.matrix import refinement, transition
from c2s.paper import results

FRESH = (
    auto_worlds.Synthetic(4, 4000, "pair", 0.35),
    auto_worlds.Synthetic(6, 2000, "sym", 0.3),
    auto_worlds.Synthetic(7, 3000, "random", 0.3, skewed=True),
    auto_worlds.Synthetic(8, 6000, "instance", 0.3),
    auto_worlds.Synthetic(10, 2000, "pair", 0.3),
    auto_worlds.Synthetic(12, 6000, "block", 0.4),
    auto_worlds.Synthetic(15, 3000, "sym", 0.5),
    auto_worlds.Synthetic(30, 6000, "sym", 0.3),
)
LINES = Path(__file__).parent / "results" / "advice.jsonl"
FOLDS, CLOSE = 3, 1.0  # points


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "--train", action="store_true", help="train the fresh settings that have no lines yet"
    )
    chosen = parser.parse_args()
    fresh = {one.name: lambda seed, one=one: auto_worlds.synthetic(one, seed) for one in FRESH}
    if chosen.train:
        torch.set_num_threads(1)
        for name, make in fresh.items():
            auto.measure(name, make, 2, list(auto.METHODS), LINES)
    report("settings that the rule was made with", auto.RESULTS, auto_worlds.every(), seed=1)
    report("fresh settings", LINES, fresh, seed=2)


def report(title: str, lines: Path, worlds: dict[str, auto_worlds.Make], *, seed: int) -> None:
    """A line a setting, and how often each way of choosing is close to the best."""
    known: dict[str, dict[str, float]] = {}
    for row in results.read(lines):
        if row["seed"] == seed and row["method"] in auto.METHODS:
            known.setdefault(row["world"], {})[row["method"]] = 100 * row["accuracy"]
    lost: dict[str, list[float]] = {}
    print(f"\n{title}: what each choice loses against the best of {len(auto.METHODS)} methods, in points")
    for name, make in worlds.items():
        if len(found := known.get(name, {})) < len(auto.METHODS):
            continue
        best, advised = max(found, key=lambda method: found[method]), advise(name, make(seed))
        for way, method in {**advised, **{m: m for m in ("forward", "f-class2simi")}}.items():
            lost.setdefault(way, []).append(found[best] - found[method])
        told = ", ".join(f"{way} {m} {found[best] - found[m]:.1f}" for way, m in advised.items())
        print(f"{name:<30} best {best:<13} {found[best]:5.1f}   {told}", flush=True)
    for way, losses in lost.items():
        close, first = np.mean(np.array(losses) <= CLOSE), np.mean(np.array(losses) <= 0)
        print(
            f"{way:<14} best {first:.0%}, within {CLOSE:g} point {close:.0%},"
            f" mean loss {np.mean(losses):.2f} of {len(losses)}"
        )


def advise(name: str, world: auto_worlds.World) -> dict[str, str]:
    """The advised method by what is counted, and by the true T_c where there is one; blind to both."""
    counts = np.bincount(world.y, minlength=world.classes)
    rows = int(0.9 * len(world.y))
    T_hat = refinement.refine(posterior(world), world.y).T
    priors = transition.clean_priors(T_hat, counts)
    found = {
        "estimated": advice.advise(T_hat, priors, rows=rows).method,
        "blind": advice.blind(world.classes, rows=rows).method,
    }
    if (T := truth(name, world.classes)) is not None:
        priors = transition.clean_priors(T, counts)
        found["given"] = advice.advise(T, priors, rows=rows).method
    return found


def posterior(world: auto_worlds.World) -> auto_worlds.Array:
    """Of a logistic regression that has not seen the row."""
    folds = np.random.default_rng(0).integers(FOLDS, size=len(world.y))
    P = np.zeros((len(world.y), world.classes))
    for fold in range(FOLDS):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # converged or not
            net = LogisticRegression(max_iter=40).fit(world.x[folds != fold], world.y[folds != fold])
        P[np.ix_(folds == fold, net.classes_)] = net.predict_proba(world.x[folds == fold])
    return P


def truth(name: str, classes: int) -> auto_worlds.Array | None:
    """T_c of a synthetic setting by its name; None where people, rules or the rows themselves made the noise."""
    for part in name.replace(" ", "-").split("-skewed")[0].split("-"):
        if part in ("sym", "asym", "pair", "random", "block"):
            rate = float(name.replace("-skewed", "").rsplit("-", 1)[1])
            return auto_worlds.matrix("random" if part == "asym" else part, classes, rate)
    return None


if __name__ == "__main__":
    sys.exit(main())
