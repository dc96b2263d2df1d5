"""What early-learning regularisation, mixup and the weight average do for a method, in settings of `auto`'s benchmark.

A line of `tests/bench/results/options.jsonl` is one option with one method in one setting at one seed, in both stages.
"""

import argparse
import statistics
import tempfile
from pathlib import Path

import auto_worlds
import torch

from c2s import config, data, pipeline
from c2s.learning import evaluation
from c2s.paper import groundwork, results, version

RESULTS = Path(__file__).parent / "results" / "options.jsonl"
WORLDS = (
    "c10-n5000-sym-0.6",
    "c10-n5000-instance-0.4",
    "c20-n8000-pair-0.4",
    "labelme majority",
    "news20 sym-0.4",
)
METHODS = ("ce", "forward", "f-class2simi")
OPTIONS = {
    "none": {},
    "elr-1": {"elr": {"weight": 1.0}},
    "elr-3": {"elr": {"weight": 3.0}},
    "mixup-0.3": {"mixup": 0.3},
    "mixup-1": {"mixup": 1.0},
    "no-average": {"ema": None},
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--out", type=Path, default=RESULTS)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    for seed in chosen.seeds:
        for world in WORLDS:
            measure(world, seed, chosen.out)
    table(results.read(chosen.out))


def measure(name: str, seed: int, out: Path) -> None:
    done = {row["key"] for row in results.read(out)}
    keys = {f"{name}/{seed}/{m}/{o}": (m, o) for m in METHODS for o in OPTIONS}
    if keys.keys() <= done:
        return
    world = auto_worlds.every()[name](seed)
    rows = data.Dataset(world.x, world.y, tuple(range(world.classes)), "vectors")
    with tempfile.TemporaryDirectory() as scratch:
        for key, (method, option) in keys.items():
            if key in done:
                continue
            raw = {"method": method, "seed": seed, "stage1": OPTIONS[option], "stage2": OPTIONS[option]}
            wanted, folder = config.TrainConfig.parse(raw), Path(scratch) / method / option
            shelves = groundwork.shelves(Path(scratch) / "groundwork", {}, wanted)
            groundwork.borrow(shelves, folder)
            found = pipeline.run(rows, wanted, folder)
            groundwork.keep(shelves, folder)
            accuracy = evaluation.accuracy(found.net, world.x_test, world.y_test)
            row = {"key": key, "world": name, "seed": seed, "method": method, "option": option}
            results.append(out, row | {"accuracy": accuracy, "kept": found.kept, "commit": version.commit()})
            print(f"{name:<26}{seed:>3}  {method:<14}{option:<12}{accuracy:.4f}", flush=True)


def table(rows: list[results.Row]) -> None:
    """Points gained over no option: mean over settings and seeds, least and most."""
    plain = {(r["world"], r["seed"], r["method"]): r["accuracy"] for r in rows if r["option"] == "none"}
    print(f"\n{'option':<14}{'method':<14}{'mean':>7}{'least':>8}{'most':>8}")
    for option in list(OPTIONS)[1:]:
        for method in METHODS:
            mine = [r for r in rows if (r["option"], r["method"]) == (option, method)]
            gains = [100 * (r["accuracy"] - plain[r["world"], r["seed"], method]) for r in mine]
            if gains:
                shown = f"{statistics.fmean(gains):>+7.2f}{min(gains):>+8.2f}{max(gains):>+8.2f}"
                print(f"{option:<14}{method:<14}{shown}")


if __name__ == "__main__":
    main()
