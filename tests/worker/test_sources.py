"""Rows to predict: what is known of the labels that come with them."""

import dataclasses

import numpy as np
import pytest
from workers import rows

from c2s import data
from c2s.interface import Interface
from worker import sources


@pytest.mark.parametrize("amended", [None, np.ones(len(rows()), np.int8)])
def test_labels_of_a_corrected_dataset_are_known_to_be_put_right(tmp_path, amended):
    dataset = dataclasses.replace(rows(), amended=amended)
    data.save(dataset, tmp_path / "data")
    card = {"labels": list(dataset.labels), "shape": dataset.shape.plain(), "encoding": dataset.encoding}
    model = Interface(card | {"transition": {"matrix": np.eye(len(dataset.labels)).tolist()}})
    assert sources.Labelled(tmp_path / "data", model).corrected == (amended is not None)
