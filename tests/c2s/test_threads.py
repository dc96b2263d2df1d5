import numpy as np
import pytest
import torch

from c2s import Class2SimiClassifier, data, pipeline, threads


@pytest.fixture(autouse=True)
def three_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize(
    ("shape", "kind", "wanted"),
    [((4, 8), "vectors", 1), ((4, 4096), "vectors", 3), ((4, 8, 8, 1), "image", 3)],
    ids=["narrow", "wide", "images"],
)
def test_narrow_rows_are_learnt_from_by_one_thread_and_the_others_come_back(shape, kind, wanted):
    dataset = data.Dataset(
        np.zeros(shape, np.uint8 if kind == "image" else np.float32), np.array([0, 1, 0, 1]), ("a", "b"), kind
    )
    with threads.suited(dataset):
        assert torch.get_num_threads() == wanted
    assert torch.get_num_threads() == 3


@pytest.mark.parametrize(
    ("terms", "wanted"), [(threads.LONG, 1), (threads.LONG + 1, 3)], ids=["short", "long"]
)
def test_short_texts_are_learnt_from_by_one_thread(terms, wanted):
    texts = data.Bags.of(np.ones((4, terms), np.float32))
    with threads.suited(data.Dataset(texts, np.array([0, 1, 0, 1]), ("a", "b"), "text")):
        assert torch.get_num_threads() == wanted


def test_the_estimator_does_not_let_threads_wait_for_each_other(monkeypatch):
    seen = []

    def stopped(*_args, **_more):
        seen.append(torch.get_num_threads())
        raise KeyboardInterrupt

    monkeypatch.setattr(pipeline, "run", stopped)
    with pytest.raises(KeyboardInterrupt):
        Class2SimiClassifier().fit(np.eye(8), [0, 1] * 4)
    assert (seen, torch.get_num_threads()) == ([1], 3)
