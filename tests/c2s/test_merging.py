"""Classes that are one: named with their mass, and joined on demand."""

import dataclasses

import numpy as np
import pytest

from c2s import data, errors, merging


def test_a_class_that_is_mostly_another_is_named_with_its_mass():
    T = np.array([[0.5, 0.5, 0.0], [0.1, 0.9, 0.0], [0.0, 0.6, 0.4]])
    y = np.repeat([0, 1, 2], [1000, 8000, 1000])
    found = merging.hints(T, y)
    assert all(hint.noisy != hint.clean and hint.mass > 0.5 for hint in found)
    assert merging.hints(np.eye(3), y) == []
    swapped = np.array([[0.2, 0.8], [0.9, 0.1]])
    named = [hint.plain(["a", "b"]) for hint in merging.hints(swapped, np.repeat([0, 1], [500, 500]))]
    assert {(hint["class"], hint["is_mostly"]) for hint in named} == {("a", "b"), ("b", "a")}


def test_merged_classes_go_under_the_first_name_and_the_rest_keep_theirs():
    dataset = data.from_arrays(np.zeros((4, 2)), ["a", "b", "c", "d"])
    found = merging.merged(dataset, [["c", "a"]])
    assert found.labels == ("b", "c", "d")
    assert [found.labels[k] for k in found.y] == ["c", "b", "c", "d"]
    assert merging.merged(dataset, []) is dataset


def test_gold_labels_are_merged_with_their_classes():
    plain = data.from_arrays(np.zeros((4, 2)), ["a", "b", "c", "d"])
    dataset = dataclasses.replace(plain, gold=np.array([0, -1, 2, 3]))
    assert merging.merged(dataset, [["c", "a"]]).gold.tolist() == [1, -1, 1, 2]


@pytest.mark.parametrize(
    ("groups", "word"),
    [([["a", "x"]], "no class 'x'"), ([["a", "b"], ["b", "c"]], "twice"), ([["a", "b", "c"]], "two classes")],
)
def test_groups_that_make_no_sense_are_refused(groups, word):
    with pytest.raises(errors.InvalidConfig, match=word):
        merging.places_of(["a", "b", "c"], groups)
