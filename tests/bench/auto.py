"""How much `method: auto` loses against the best method in hindsight, beside fixed choices and CleanLearning.

Each line of `tests/bench/results/auto.jsonl` is one method in one setting at one seed; what is there is not run again.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import auto_worlds
import numpy as np
import torch

from c2s import config, data, pipeline
from c2s.learning import evaluation
from c2s.paper import groundwork, results, version

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "auto.jsonl"
RIVAL = HERE.parents[1] / ".venv" / "cleanlab" / "bin" / "python"
METHODS = (
    "ce",
    "forward",
    "f-class2simi",
    "prune",
    "co-teaching",
    "phuber-ce",
    "apl",
    "volmin",
    "reweight",
    "jocor",
)
AUTO, CLEANLAB = "auto", "cleanlab"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--worlds", nargs="*", default=[], help="parts of their names")
    parser.add_argument("--methods", nargs="*", default=[AUTO, *METHODS, CLEANLAB])
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument(
        "--table", action="store_true", help="print the table of what was run, and run nothing"
    )
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    if not chosen.table:
        for seed in chosen.seeds:
            for name, make in auto_worlds.every().items():
                if not chosen.worlds or any(part in name for part in chosen.worlds):
                    measure(name, make, seed, chosen.methods, chosen.out)
    table(results.read(chosen.out))


def measure(name: str, make: auto_worlds.Make, seed: int, methods: list[str], out: Path) -> None:
    """Every method of a setting that has no line yet; stage 1 and its folds are trained once for all."""
    done = {(row["world"], row["seed"], row["method"]) for row in results.read(out)}
    wanted = [method for method in methods if (name, seed, method) not in done]
    if not wanted:
        return
    world = make(seed)
    with tempfile.TemporaryDirectory() as scratch:
        for method in wanted:
            row = {"key": f"{name}/{seed}/{method}", "world": name, "seed": seed, "method": method}
            found = (
                rival(world, Path(scratch))
                if method == CLEANLAB
                else ours(world, method, seed, Path(scratch))
            )
            row |= found | {"wrong": world.wrong, "rows": len(world.y), "commit": version.commit()}
            results.append(out, row)
            print(
                f"{name:<32}{seed:>3}  {method:<14}{row['accuracy']:.4f}  {row['seconds']:.1f} s", flush=True
            )


def ours(
    world: auto_worlds.World, method: str, seed: int, scratch: Path, **options: object
) -> dict[str, object]:
    """One job with all but method, seed and an image's net left to the library; seconds are of all its phases."""
    rows = data.Dataset(world.x, world.y, tuple(range(world.classes)), world.kind)
    asked = {"name": method, **options}
    wanted = config.TrainConfig.parse({"method": asked, "seed": seed, "net": world.net})
    folder = scratch / "-".join(map(str, asked.values()))
    shelves = groundwork.shelves(scratch / "groundwork", {}, wanted)
    if method != AUTO:  # its folds differ, and its time is measured
        groundwork.borrow(shelves, folder)
    began = time.perf_counter()
    found = pipeline.run(rows, wanted, folder)
    wall = time.perf_counter() - began
    if method != AUTO:
        groundwork.keep(shelves, folder)
    own = [entry for entry in found.history if entry["phase"] == "stage2" and entry["kept"]]
    return {
        "accuracy": evaluation.accuracy(found.net, world.x_test, world.y_test),
        "kept": found.kept,
        "estimator": found.estimator,
        "chosen": found.card.get("chosen"),
        "noisy_validation": own[0]["accuracy"] if own else None,
        "likelihood": own[0]["likelihood"] if own else None,
        "held": len(world.y) // 10,
        "rate": found.rates.class_,
        "seconds": round(sum(float(entry["seconds"]) for entry in found.history), 2),
        "wall": round(wall, 2),
    }


def rival(world: auto_worlds.World, scratch: Path) -> dict[str, object]:
    """CleanLearning in its own process."""
    file = scratch / "world.npz"
    x, x_test = (part.reshape(len(part), -1) for part in (world.x, world.x_test))  # images as their pixels
    np.savez(file, x=x, y=world.y, x_test=x_test, y_test=world.y_test)
    command = [str(RIVAL), str(HERE / "rival_cleanlearning.py"), str(file)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return {"accuracy": float(said[0]), "seconds": round(float(said[1]), 2)}


def table(rows: list[results.Row]) -> None:
    """Regret in points: mean over settings, worst, and in how many settings a choice was the best."""
    worlds: dict[tuple[str, int], dict[str, float]] = {}
    for row in rows:
        worlds.setdefault((row["world"], row["seed"]), {})[row["method"]] = 100 * row["accuracy"]
    names = sorted({row["method"] for row in rows})
    whole = {key: found for key, found in worlds.items() if set(METHODS) <= set(found)}
    print(f"\n{'choice':<16}{'mean regret':>12}{'worst':>8}{'settings':>10}")
    for name in names:
        lost = {key: _best(found) - found[name] for key, found in whole.items() if name in found}
        if lost:
            mean, worst = statistics.fmean(lost.values()), max(lost.values())
            print(f"{name:<16}{mean:>12.2f}{worst:>8.2f}{len(lost):>10}")


def _best(found: dict[str, float]) -> float:
    """Of our fixed methods: neither auto nor the rival is part of hindsight."""
    return max(found[method] for method in METHODS)


if __name__ == "__main__":
    sys.exit(main())
