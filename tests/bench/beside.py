"""What Forward's loss beside the pairs' is worth where rows a class are few, by its weight (ARCHITECTURE.md, D117).

Each line of `tests/bench/results/beside.jsonl` is one weight in one setting at one seed; none is run twice.
"""

import argparse
import tempfile
from pathlib import Path

import auto
import auto_worlds
import torch

from c2s import members
from c2s.paper import results, version

LINES = auto.HERE / "results" / "beside.jsonl"
FORWARD = "forward"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--weights", type=float, nargs="+", default=[0.0, 1.0, 16.0])
    parser.add_argument("--out", type=Path, default=LINES)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    for seed in chosen.seeds:
        for name, make in auto_worlds.every().items():
            measure(name, make(seed), seed, chosen.weights, chosen.out)


def measure(name: str, world: auto_worlds.World, seed: int, weights: list[float], out: Path) -> None:
    """Every weight that has no line yet, and Forward alone; stage 1 and its folds are trained once for all."""
    if len(world.y) >= members.ROWS_FOR_PAIRS * world.classes:
        return
    done = {(row["world"], row["seed"], row["weight"]) for row in results.read(out)}
    with tempfile.TemporaryDirectory() as scratch:
        for weight in [weight for weight in [*weights, None] if (name, seed, weight) not in done]:
            found = (
                auto.ours(world, FORWARD, seed, Path(scratch))
                if weight is None
                else auto.ours(world, "f-class2simi", seed, Path(scratch), forward=weight)
            )
            row = {"key": f"{name}/{seed}/{weight}", "world": name, "seed": seed, "weight": weight}
            row |= {"classes": world.classes, "rows": len(world.y), "commit": version.commit()}
            results.append(out, row | {fact: found[fact] for fact in ("accuracy", "kept", "seconds")})
            print(f"{name:<32}{seed:>3}  {weight!s:<8}{found['accuracy']:.4f}  {found['kept']}", flush=True)


if __name__ == "__main__":
    main()
