"""What a run's line says of its nets and its matrices: how often they are right, and how far off."""

from collections.abc import Mapping
from typing import Any

from c2s.matrix import estimation, transition


def accuracies(history: list[dict[str, Any]], kept: str = "stage2") -> dict[str, Any]:
    """Test accuracy of stage 1's model, and of the method's own: the epoch it keeps, the best and the last one.

    Best on noisy validation is the paper's rule. The method's own epochs count even where the run fell back to an
    earlier phase's model, whose accuracy would flatter the method.
    """
    tested = [entry for entry in history if "test" in entry]
    stage1 = [entry for entry in tested if entry["phase"] == "stage1"]
    last = kept if kept.startswith("stage2") else tested[-1]["phase"]  # `auto` trains several, and keeps one
    own = [entry for entry in tested if entry["phase"] == last]
    return {
        "accuracy_own": next(entry["test"] for entry in own if entry["kept"]),
        "accuracy_best": max(own, key=lambda entry: float(entry["accuracy"]))["test"],  # the first of equals
        "accuracy_last": own[-1]["test"],
        "accuracy_stage1": next(entry["test"] for entry in stage1 if entry["kept"]),
        "epochs": [[entry["phase"], entry["accuracy"], entry["test"]] for entry in tested],
        "training_seconds": round(sum(entry["seconds"] for entry in history), 2),  # borrowed phases included
    }


def matrix_errors(
    chosen: transition.Matrix, others: Mapping[str, transition.Matrix], T_c: transition.Matrix | None
) -> dict[str, Any]:
    """How far the run's matrix and the other estimates are from the true one, where there is one."""
    if T_c is None:
        return {"error": None, "errors": {}}
    return {
        "error": estimation.error(chosen, T_c),
        "errors": {name: estimation.error(T_hat, T_c) for name, T_hat in others.items()},
    }
