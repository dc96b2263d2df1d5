"""The door to the models."""

import pytest

from app import inference
from app.core import errors, ids
from app.core.storage import Store


def test_a_model_whose_bytes_are_gone_is_named_and_not_a_fault_of_the_request(tmp_path):
    store = Store(tmp_path)
    folder = store.attempt(ids.new("job"), 1) / "run" / "model"
    folder.mkdir(parents=True)
    (folder / "card.json").write_text("{}")
    with pytest.raises(errors.Unavailable) as caught:
        inference.Inference(store, threads=1).model(store.key(folder))
    assert caught.value.code == "model_damaged"
