"""What a model means by its card alone: by which matrix it judges labels."""

import numpy as np

from c2s.interface import Interface
from c2s.shape import Shape

NOW, CAME = [[1.0, 0.0], [0.0, 1.0]], [[0.6, 0.4], [0.4, 0.6]]
SURE = np.array([[0.9, 0.1]])
LABEL = np.array([1])


def model(put_right=None, **more):
    card = {"labels": ["a", "b"], "shape": Shape("vectors", 2, width=3).plain(), "encoding": {}}
    return Interface(card | {"transition": {"matrix": NOW} | more, "put_right": put_right})


def test_labels_as_they_came_are_judged_by_their_own_matrix_and_those_put_right_by_theirs():
    found = model({"by_people": 9, "by_model": 0}, as_given=CAME)
    assert found.audits == "given"
    assert found.audit(SURE, LABEL)[0].argmax() == 0
    assert found.audit(SURE, LABEL, corrected=True)[0].argmax() == 1
    np.testing.assert_allclose(found.noisy_posterior(SURE), [[0.58, 0.42]])


def test_a_model_of_labels_put_right_that_knows_no_other_matrix_says_so():
    assert model({"by_people": 9, "by_model": 0}, as_given=None).audits == "corrected"
    assert model({"by_people": 9, "by_model": 0}).audits == "corrected"
    assert model().audits == "given"
    assert model().audit(SURE, LABEL)[0].argmax() == 1


def estimated(known, **more):
    found = model()
    card = {"dataset": {"rows": known}, "transition": {"estimator": "confident-joint", "priors": [0.5, 0.5]}}
    return Interface(found.card | card | {"transition": found.card["transition"] | card["transition"] | more})


def test_what_few_rows_never_showed_does_not_overrule_a_sure_classifier():
    sure = np.array([[0.999, 0.001]])
    assert estimated(20).audit(sure, LABEL)[0].argmax() == 0
    assert 0 < estimated(20_000).audit(sure, LABEL)[0, 0] < 0.1  # so many rows would have shown it
    assert estimated(20_000, rows=20).audit(sure, LABEL)[0].argmax() == 0  # the matrix was read off so few
    np.testing.assert_array_equal(estimated(20).transition, NOW)


def test_a_matrix_that_a_user_gave_is_taken_at_its_word():
    assert estimated(20, estimator="given").audit(np.array([[0.999, 0.001]]), LABEL)[0, 1] == 1
