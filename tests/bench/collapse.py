"""Why pairs collapse with 20 classes at 60 % noise: News20 with the true T given, and what becomes of its classes.

Each line of `tests/bench/results/collapse.jsonl` is one variant at one seed: test accuracy of stage 1, of stage 2's
best (by noisy validation) and last epoch; and by epoch the classes in use (over 1 % of predictions) and the confidence.
"""

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch

from c2s import config, pipeline, streams
from c2s.learning import batches, evaluation
from c2s.matrix import noise
from c2s.paper import groundwork, results, sources, version

RESULTS = Path(__file__).parent / "results" / "collapse.jsonl"
CLASSES, RATE, USED = 20, 0.6, 0.01
PAIRS = {"name": "f-class2simi", "correction": "similarity", "forward": 0.0}
STEPS = {"name": "step", "every": 10}
VARIANTS: dict[str, tuple[Any, dict[str, Any]]] = {
    "base": (PAIRS, {}),  # the paper's: no average, rate 1e-3, batches of 128
    "mcl": ("mcl", {}),
    "forward": ("forward", {}),
    "ema": (PAIRS, {"ema": 0.995}),
    "hybrid1": (PAIRS | {"forward": 1.0}, {}),
    "hybrid1+ema": (PAIRS | {"forward": 1.0}, {"ema": 0.995}),
    "b1024": (PAIRS, {"batch_size": 1024}),
    "b1024+ema": (PAIRS, {"batch_size": 1024, "ema": 0.995}),
    "lr1e-4": (PAIRS, {"learning_rate": 1e-4}),
    "nodiag": (PAIRS | {"diagonal": 0.0}, {}),
    "diag10": (PAIRS | {"diagonal": 10.0}, {}),
    "exact": (PAIRS | {"correction": "exact"}, {}),
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--variants", nargs="*", default=list(VARIANTS))
    parser.add_argument("--out", type=Path, default=RESULTS)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    source = sources.load("news20")
    with tempfile.TemporaryDirectory() as scratch:
        for seed in chosen.seeds:
            for name in chosen.variants:
                measure(name, seed, source, Path(scratch), chosen.out)


def measure(name: str, seed: int, source: Any, scratch: Path, out: Path) -> None:
    key = f"{name}/{seed}"
    if key in {row["key"] for row in results.read(out)}:
        return
    method, stage2 = VARIANTS[name]
    T = noise.symmetric(CLASSES, RATE)
    y = noise.corrupt(source.y, T, rng=streams.numpy(seed, "flips"))
    plain = {"batch_size": 128, "weight_decay": 1e-5, "schedule": "constant", "ema": None}
    raw = {"method": method, "net": "mlp", "seed": seed, "transition": {"matrix": T.tolist()}}
    raw |= {"stage1": plain | {"epochs": 10}, "stage2": plain | {"epochs": 20, "schedule": STEPS} | stage2}
    wanted, folder = config.TrainConfig.parse(raw), scratch / name / str(seed)
    shelves = groundwork.shelves(scratch / "groundwork", {"seed": seed}, wanted)
    groundwork.borrow(shelves, folder)
    found = pipeline.run(source.labelled(y), wanted, folder, probe=looker(source))
    groundwork.keep(shelves, folder)
    row = {"key": key, "tag": name, "seed": seed, "commit": version.commit()} | seen(found.history)
    results.append(out, row)
    print(f"{key:<16}{row['st1']:.3f} {row['best']:.3f} {row['last']:.3f}  {row['used']}", flush=True)


def looker(source: Any) -> Any:
    """What is noted of every epoch."""
    rows = batches.Source(source.x_test, torch.device("cpu"))

    def probe(net: torch.nn.Module) -> dict[str, float]:
        posterior = evaluation.posterior(net, rows)
        called = posterior.argmax(1)
        share = np.bincount(called, minlength=CLASSES) / len(called)
        right = float((called == source.y_test).mean())
        return {"test": right, "used": float((share > USED).sum()), "conf": float(posterior.max(1).mean())}

    return probe


def seen(history: list[dict[str, Any]]) -> dict[str, Any]:
    second = [entry for entry in history if entry["phase"] == "stage2"]
    start = next(entry for entry in history if entry["phase"] == "stage1" and entry["kept"])
    by_epoch = {name: [round(entry[name], 3) for entry in second] for name in ("test", "used", "conf")}
    best = max(second, key=lambda entry: float(entry["accuracy"]))["test"]
    return {"st1": start["test"], "best": best, "last": second[-1]["test"]} | by_epoch


if __name__ == "__main__":
    main()
