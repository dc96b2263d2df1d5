"""The door to the models."""

import asyncio
import shutil

import numpy as np
import pytest

from app import inference
from app.core import errors, ids
from app.core.storage import Store
from c2s import config, runtime
from c2s.exporting import export
from c2s.learning import checkpoint
from c2s.nets import choice
from c2s.shape import Shape


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model of vectors of two numbers."""
    shape = Shape("vectors", 3, width=2)
    chosen = config.Mlp()
    net = choice.build(chosen, shape).eval()
    card = {
        "config": {"net": chosen.model_dump(mode="json")},
        "shape": shape.plain(),
        "labels": ["a", "b", "c"],
        "encoding": {},
        "transition": {"matrix": np.eye(3).tolist()},
        "notes": [],
    }
    place = tmp_path_factory.mktemp("model") / "model"
    checkpoint.save_model(place, net, card, export.graph(net, shape, ("a", "b", "c")))
    return place


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path)


@pytest.fixture
def put(store, folder):
    """A copy of the model in the store."""

    def copy():
        target = store.attempt(ids.new("job"), 1) / "run" / "model"
        shutil.copytree(folder, target)
        return store.key(target)

    return copy


def test_a_model_whose_bytes_are_gone_is_named_and_not_a_fault_of_the_request(store):
    folder = store.attempt(ids.new("job"), 1) / "run" / "model"
    folder.mkdir(parents=True)
    (folder / "card.json").write_text("{}")

    async def ask():
        await inference.Inference(store, threads=1).model(store.key(folder))

    with pytest.raises(errors.Unavailable) as caught:
        asyncio.run(ask())
    assert caught.value.code == "model_damaged"


def test_a_graph_whose_bytes_changed_is_not_served(store, put):
    key = put()
    graph = store.at(key) / "model.onnx"
    graph.write_bytes(graph.read_bytes()[:-1] + b"x")

    async def ask():
        await inference.Inference(store, threads=1).model(key)

    with pytest.raises(errors.Unavailable) as caught:
        asyncio.run(ask())
    assert caught.value.code == "model_damaged"


def test_many_who_ask_at_once_wait_for_one_loading(store, put, monkeypatch):
    key, loads, load = put(), [], runtime.Runtime.load

    def counted(path, **more):
        loads.append(path)
        return load(path, **more)

    monkeypatch.setattr(runtime.Runtime, "load", counted)

    async def ask():
        door = inference.Inference(store, threads=1)
        first = asyncio.create_task(door.model(key))
        await asyncio.sleep(0)
        first.cancel()  # one who leaves does not stop it for the others
        return await asyncio.gather(*(door.model(key) for _ in range(8)))

    found = asyncio.run(ask())
    assert len(loads) == 1
    assert len({id(model) for model in found}) == 1


def test_models_that_nobody_asks_are_let_go_by_size_and_one_that_failed_is_tried_again(store, put):
    keys = [put() for _ in range(3)]

    async def ask():
        size = (await inference.Inference(store, threads=1).model(keys[0])).bytes
        door = inference.Inference(store, threads=1, memory=2 * size)
        first = await door.model(keys[0])
        assert await door.model(keys[0]) is first
        await door.model(keys[1])
        assert await door.model(keys[0]) is first  # asked last: the other one goes
        await door.model(keys[2])
        assert await door.model(keys[0]) is first
        await door.model(keys[1])
        await door.model(keys[2])
        assert await door.model(keys[0]) is not first
        small = inference.Inference(store, threads=1, memory=1)
        assert (await small.model(keys[0])).interface.classes == ("a", "b", "c")  # too large, and kept alone
        card = store.at(keys[1]) / "card.json"
        text = card.read_text()
        card.write_text("{}")
        with pytest.raises(errors.Unavailable, match="damaged or incomplete"):
            await small.model(keys[1])
        card.write_text(text)
        assert (await small.model(keys[1])).interface.classes == ("a", "b", "c")

    asyncio.run(ask())
