"""What a run says of its own choices."""

import types

import pytest
import torch

from c2s import config
from c2s.learning import precision
from c2s.running import remarks

GIVEN = {"matrix": [[0.9, 0.1], [0.2, 0.8]]}


def said(method, transition):
    chosen = config.TrainConfig.parse({"method": method, "transition": transition})
    return remarks.on_settings(types.SimpleNamespace(config=chosen, device=torch.device("cpu")))


@pytest.mark.parametrize("method", ["prune", "prune-class2simi"])
def test_a_method_that_leaves_rows_out_says_that_no_matrix_chose_them(method):
    (note,) = said(method, GIVEN)
    assert note.startswith(f"{method} leaves out")
    assert "the given matrix had no say" in note
    for estimator in ("gold", "hoc", "anchors"):
        assert f"the matrix of {estimator} had no say" in said(method, estimator)[0]
    assert said(method, "auto") == said(method, "confident-joint") == []


def test_what_became_of_a_given_matrix_is_told_where_it_was_no_constant():
    assert "compared with" in said("volmin", GIVEN)[0]
    assert "revised it" in said("revision", GIVEN)[0]
    assert said("forward", GIVEN) == said("volmin", "gold") == []


@pytest.mark.parametrize("stage", ["stage1", "stage2"])
@pytest.mark.parametrize("works", [True, False])
def test_bfloat16_that_was_asked_for_in_vain_is_told(monkeypatch, stage, works):
    monkeypatch.setattr(precision, "_processor_can", lambda: works)

    def said(wanted: str) -> list[str]:
        chosen = config.TrainConfig.parse({stage: {"precision": wanted}})
        bench = types.SimpleNamespace(config=chosen, device=torch.device("cpu"))
        return remarks.on_settings(bench)

    assert said("float32") == []
    assert [note.endswith("computed in float32.") for note in said("bfloat16")] == ([] if works else [True])
