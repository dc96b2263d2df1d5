"""What a run's line says of its nets and its matrices."""

from c2s.paper import measures


def test_the_best_epoch_is_the_methods_own_and_the_first_of_equals() -> None:
    def entry(phase: str, accuracy: float, test: float, *, kept: bool = False) -> dict[str, object]:
        return {"phase": phase, "accuracy": accuracy, "test": test, "kept": kept, "seconds": 1.0}

    history = [
        entry("stage1", 0.9, 0.95, kept=True),
        entry("stage1", 0.8, 0.85),
        {"phase": "fold-1", "accuracy": 0.99, "kept": True, "seconds": 1.0},
        entry("stage2", 0.5, 0.6),
        entry("stage2", 0.7, 0.75, kept=True),
        entry("stage2", 0.7, 0.99),
        entry("stage2", 0.6, 0.65),
    ]
    found = measures.accuracies(history)
    assert found["accuracy_stage1"] == 0.95
    assert found["accuracy_own"] == found["accuracy_best"] == 0.75
    assert found["accuracy_last"] == 0.65
    assert found["training_seconds"] == 7.0
