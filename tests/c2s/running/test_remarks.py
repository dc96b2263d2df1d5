"""What a run says of its own choices."""

import pytest

from c2s import config
from c2s.running import remarks

GIVEN = {"matrix": [[0.9, 0.1], [0.2, 0.8]]}


def said(method, transition):
    return remarks.on_given(config.TrainConfig.parse({"method": method, "transition": transition}))


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
