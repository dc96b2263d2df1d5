"""Classes that are one: named with their mass, and joined on demand."""

import dataclasses

import numpy as np
import pytest

from c2s import data, errors, naming
from c2s.judging import merging


def test_a_class_that_is_mostly_another_is_named_with_its_mass():
    T = np.array([[0.5, 0.5, 0.0], [0.1, 0.9, 0.0], [0.0, 0.6, 0.4]])
    y = np.repeat([0, 1, 2], [1000, 8000, 1000])
    found = merging.hints(T, y)
    assert all(hint.noisy != hint.clean and hint.mass > 0.5 for hint in found)
    assert merging.hints(np.eye(3), y) == []
    swapped = np.array([[0.2, 0.8], [0.9, 0.1]])
    named = [hint.plain(["a", "b"]) for hint in merging.hints(swapped, np.repeat([0, 1], [500, 500]))]
    assert {(hint["class"], hint["is_mostly"]) for hint in named} == {("a", "b"), ("b", "a")}


def test_a_class_of_which_nothing_is_known_is_no_hint_and_masses_are_rounded():
    T = np.array([[0.2, 0.8, 0.0], [0.9, 0.1, 0.0], [0.0, 0.0, 1.0]])
    y = np.repeat([0, 1, 2], 500)
    assert {hint.noisy for hint in merging.hints(T, y)} == {0, 1}
    assert merging.hints(T, y, unknown=(1,)) == []
    assert merging.Hint(0, 1, 0.9999999999999997).plain("ab")["mass"] == 1.0


def test_merged_classes_go_under_the_first_name_and_the_rest_keep_theirs():
    dataset = data.from_arrays(np.zeros((4, 2)), ["a", "b", "c", "d"])
    found = merging.merged(dataset, [["c", "a"]])
    assert found.labels == ("b", "c", "d")
    assert [found.labels[k] for k in found.y] == ["c", "b", "c", "d"]
    assert merging.merged(dataset, []) is dataset


def test_gold_labels_and_those_that_came_are_merged_with_their_classes():
    plain = data.from_arrays(np.zeros((4, 2)), ["a", "b", "c", "d"])
    dataset = dataclasses.replace(plain, gold=np.array([0, -1, 2, 3]), given=np.array([3, -1, 0, 2]))
    found = merging.merged(dataset, [["c", "a"]])
    assert found.gold.tolist() == [1, -1, 1, 2]
    assert found.given.tolist() == [2, -1, 1, 1]


@pytest.mark.parametrize(
    ("groups", "word"),
    [([["a", "x"]], "no class 'x'"), ([["a", "b"], ["b", "c"]], "twice"), ([["a", "b", "c"]], "two classes")],
)
def test_groups_that_make_no_sense_are_refused(groups, word):
    with pytest.raises(errors.InvalidConfig, match=word):
        merging.places_of(["a", "b", "c"], groups)


def test_a_label_that_was_merged_means_its_class_and_is_told_as_it_came():
    names = merging.named(["bad", "good", "ok"], [["bad", "ok"]])
    assert (names.classes, names.become) == (("bad", "good"), (0, 1, 0))
    assert names.places == {"bad": 0, "good": 1, "ok": 0}
    assert [names.told(0, came) for came in (0, 1, 2)] == ["bad", "bad", "ok"]
    assert [names.told(1, came) for came in (0, 1, 2)] == ["good", "good", "good"]
    assert naming.meant(names.classes, [["bad", "ok"]]) == names.places
    assert naming.meant(["a", "b"], ()) == {"a": 0, "b": 1}
