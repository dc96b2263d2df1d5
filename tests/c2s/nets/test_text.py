import numpy as np
import pytest
import torch
from torch import nn

from c2s import config, data, errors
from c2s.nets import choice
from c2s.shape import Shape

SHAPE = Shape(kind="text", classes=3, width=11)
NET = config.TextNet(embedding=5, hidden=(7,))


def bag():
    """Four bags, the third of them empty."""
    indices = torch.tensor([0, 3, 3, 10, 4, 2, 2])
    return indices, torch.tensor([0, 3, 4, 4]), torch.tensor([0.5, 1.0, 2.0, 1.0, -1.0, 0.3, 0.2])


def dense(bag, width):
    indices, offsets, weights = bag
    rows = torch.bucketize(torch.arange(len(indices)), offsets, right=True) - 1
    return torch.zeros(len(offsets), width).index_put_(
        (rows, indices), weights, accumulate=True
    )  # (b, terms)


def with_vectors(vectors):
    bags = data.Bags(np.array([0, 2, 3]), np.array([0, 1, 2]), np.ones(3, np.float32), len(vectors))
    return data.Dataset(bags, np.array([0, 1]), ("a", "b"), "text", vectors=vectors)


def test_a_text_net_is_a_dense_product_with_its_word_vectors():
    net = choice.build(NET, SHAPE).eval()
    product = dense(bag(), 11) @ net.body.words.weight  # (b, embedding)
    torch.testing.assert_close(net.body.words(bag()), product)
    torch.testing.assert_close(net(bag()), net.body.body(product))


def test_learnt_word_vectors_get_a_gradient_where_their_terms_occur():
    net = choice.build(NET, SHAPE)
    net(bag()).square().sum().backward()
    touched = net.body.words.weight.grad.abs().sum(1) > 0
    assert not touched[[1, 5, 6, 7, 8, 9]].any()
    assert touched[[0, 2, 3, 4, 10]].all()


def test_given_word_vectors_stay_as_they_are():
    vectors = np.random.default_rng(0).normal(size=(4, 6)).astype(np.float32)
    net = choice.build_for(NET, with_vectors(vectors), np.array([0, 1])).requires_grad_(True)
    x = (torch.tensor([0, 1, 2]), torch.tensor([0, 2]), torch.ones(3))
    optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
    nn.functional.cross_entropy(net(x), torch.tensor([0, 1])).backward()
    optimizer.step()
    words = net.body.words.weight
    assert words.grad is None
    assert not words.requires_grad
    np.testing.assert_array_equal(words.numpy(), vectors)
    assert choice.parameters(net) == 6 * 7 + 7 + 2 * 7 + 7 * 2 + 2  # none of them a word's


def test_given_word_vectors_travel_in_the_weights():
    vectors = np.random.default_rng(0).normal(size=(4, 6)).astype(np.float32)
    net = choice.build_for(NET, with_vectors(vectors), np.array([0, 1]))
    again = choice.build(NET, Shape(kind="text", classes=2, width=4, vectors=6))
    again.load_state_dict(net.state_dict())
    np.testing.assert_array_equal(again.body.words.weight.numpy(), vectors)


def test_word_vectors_must_be_one_a_term():
    dataset = with_vectors(np.zeros((4, 6), np.float32))
    object.__setattr__(dataset, "vectors", np.zeros((3, 6), np.float32))
    with pytest.raises(errors.InvalidDataset, match="4 terms need as many word vectors, there are 3"):
        choice.build_for(NET, dataset, np.array([0, 1]))


def test_dropout_rests_in_evaluation():
    torch.manual_seed(0)
    net = choice.build(config.TextNet(embedding=5, hidden=(64,), dropout=0.5), SHAPE)
    assert not torch.equal(net(bag()), net(bag()))
    net.eval()
    assert torch.equal(net(bag()), net(bag()))
