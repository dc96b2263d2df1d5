"""cleanlab on a file of posteriors and labels; run by tests/bench/issues.py in an environment of its own."""

import json
import resource
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from cleanlab import filter as filters
from cleanlab import rank

METHODS = ("self_confidence", "normalized_margin", "confidence_weighted_entropy")


def precision(quality, wrong):
    """Average precision, the lowest quality first."""
    hits = wrong[np.argsort(quality, kind="stable")]
    return float((np.cumsum(hits) / np.arange(1, len(hits) + 1))[hits].mean())


def qualities(P, y):
    """Every score that cleanlab has for these probabilities."""
    for method in METHODS:
        for adjusted in (False, True):
            if not (
                adjusted and method == "confidence_weighted_entropy"
            ):  # cleanlab refuses the two together
                name = method + (" adjusted" if adjusted else "")
                yield name, rank.get_label_quality_scores(y, P, method=method, adjust_pred_probs=adjusted)


def own_model(path, y):
    """Out-of-sample probabilities of the model that cleanlab's manual begins with."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_predict

    x = np.load(path, allow_pickle=False)
    if (x == 0).mean() < 0.9:  # counts of words stay as they are
        x = (x - x.mean(axis=0)) / (x.std(axis=0) + 1e-3)
    return cross_val_predict(LogisticRegression(max_iter=100), x, y, cv=5, method="predict_proba")


def judged(folder, name):
    """Average precisions by setting, and the accuracy of the labels that it would correct."""
    found = np.load(folder / f"{name}.npz", allow_pickle=False)
    P, y, gold = found["posterior"], found["given"], found["gold"]
    told = {key: precision(quality, y != gold) for key, quality in qualities(P, y)}
    rows = folder / f"{name}-x.npy"
    if rows.exists():
        told |= {
            f"own: {key}": precision(quality, y != gold) for key, quality in qualities(own_model(rows, y), y)
        }
    bad = filters.find_label_issues(y, P, n_jobs=1)
    fixed = np.where(bad, P.argmax(axis=1), y)
    return {"precision": told, "corrected": float((fixed == gold).mean())}


def timed(folder, name):
    """Seconds and memory of finding and ordering the issues."""
    found = np.load(folder / f"{name}.npz", allow_pickle=False)
    P, y = found["posterior"], found["given"]
    before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    filters.find_label_issues(y, P, n_jobs=1, return_indices_ranked_by="self_confidence")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"seconds": time.process_time() - began, "megabytes": (peak - before) / 1024}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    place, which = Path(sys.argv[1]), sys.argv[2]
    print(json.dumps(timed(place, which) if "--only-time" in sys.argv else judged(place, which)))
