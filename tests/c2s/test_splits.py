"""Rows held out, folds and batches, and their numbers without drawing them."""

import numpy as np
import pytest
import torch

from c2s import splits, streams
from c2s.learning import batches


def test_the_split_is_stratified_disjoint_and_repeatable():
    y = np.repeat(np.arange(4), [100, 50, 30, 20])
    train, held = splits.split(y, 0.1, seed=5)
    assert np.bincount(y[held]).tolist() == [10, 5, 3, 2]
    assert sorted([*train, *held]) == list(range(200))
    np.testing.assert_array_equal(splits.split(y, 0.1, seed=5)[1], held)
    assert not np.array_equal(splits.split(y, 0.1, seed=6)[1], held)


def test_every_class_keeps_a_training_row():
    y = np.array([0] * 50 + [1])
    train, _ = splits.split(y, 0.5, seed=1)
    assert 50 in train
    tiny_train, tiny_held = splits.split(np.array([0, 1, 2]), 0.1, seed=1)
    assert len(tiny_train) == 2
    assert len(tiny_held) == 1


def test_every_class_of_two_rows_keeps_one_of_them():
    y = np.repeat(np.arange(100), 2)
    for seed in range(50):
        train, held = splits.split(y, 0.1, seed=seed)
        assert len(held) == 20
        assert len(np.unique(y[train])) == 100
    mostly_single = np.append(np.arange(40), [39, 39])
    for seed in range(50):
        assert 39 in mostly_single[splits.split(mostly_single, 0.15, seed=seed)[0]]


def test_tiny_classes_are_split_as_ever_where_none_loses_all_its_rows():
    y = np.repeat(np.arange(40), 4)
    for seed in range(20):
        rng = streams.numpy(seed, "split")
        for _ in range(40):
            rng.permutation(4)
        np.testing.assert_array_equal(splits.split(y, 0.02, seed=seed)[1], np.sort(rng.permutation(160)[:3]))


def test_folds_are_balanced_within_every_class():
    y = np.repeat(np.arange(3), [20, 35, 7])
    numbers = splits.folds(y, 5, seed=1)
    for label in range(3):
        sizes = np.bincount(numbers[y == label], minlength=5)
        assert sizes.max() - sizes.min() <= 1


@pytest.mark.parametrize("class_rows", [[100, 50, 30, 20], [50, 1], [1, 1, 1], [3, 2, 7], [33]])
@pytest.mark.parametrize("share", [0.02, 0.1, 0.5])
def test_rows_held_out_and_folds_are_foretold_without_drawing_them(class_rows, share):
    y = np.repeat(np.arange(len(class_rows)), class_rows)
    train, held = splits.split(y, share, seed=3)
    assert splits.held(class_rows, share) == len(held)
    numbers = splits.folds(y[train], 3, seed=3)
    assert splits.outside(len(train), 3) == [int((numbers != fold).sum()) for fold in range(3)]


@pytest.mark.parametrize("rows", [2, 7, 8, 9, 10, 16, 17])
def test_batches_are_foretold_as_they_are_drawn(rows):
    drawn = list(batches.shuffled(torch.arange(rows), 8, torch.Generator()))
    assert splits.batches(rows, 8) == len(drawn)
