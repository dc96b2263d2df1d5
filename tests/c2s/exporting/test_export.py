"""Nets as ONNX graphs: every one of them, with answers that torch would give."""

import numpy as np
import onnx
import pytest
import torch

from c2s import config, data, errors, runtime
from c2s.exporting import export
from c2s.learning import batches, checkpoint, evaluation
from c2s.nets import choice, classifier, inputs
from c2s.shape import Shape

GREY, COLOUR = Shape("image", 4, image=(28, 28, 1)), Shape("image", 4, image=(16, 12, 3))
NETS = [
    (config.LeNet(), GREY),
    (config.LeNet(), COLOUR),
    (config.LeNet(), Shape("image", 4, image=(13, 11, 3))),  # pooling drops the last line of an odd side
    (config.LeNet5(), GREY),
    (config.ShakeShake26(width=4), COLOUR),
    (config.ResNet56(), COLOUR),
    (config.ResNet50(), COLOUR),
    (config.Mlp(), Shape("vectors", 4, width=7)),
    (config.Mlp(hidden=()), Shape("tabular", 4, width=3)),
    (config.Mlp(hidden=(9, 5), dropout=0.5), Shape("vectors", 4, width=7)),
    (config.TextNet(), Shape("text", 4, width=50)),
    (config.TextNet(), Shape("text", 4, width=50, vectors=6)),
]


def some(shape, count, seed=0):
    """Rows of a shape; some bags are empty, the last one too."""
    rng = np.random.default_rng(seed)
    if shape.image is not None:
        return rng.integers(0, 256, (count, *shape.image), dtype=np.uint8)
    if shape.kind != "text":
        return rng.normal(size=(count, shape.width)).astype(np.float32)
    lengths = rng.integers(0, 4, count)
    lengths[-1] = 0
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    weights = rng.random(indptr[-1]).astype(np.float32)
    return data.Bags(indptr, rng.integers(0, shape.width, indptr[-1]), weights, shape.width)


def lived(net, seed=1):
    """A net whose norms and word vectors are not those of the start; scales of both signs."""
    generator = torch.Generator().manual_seed(seed)
    for layer in net.modules():
        if isinstance(layer, torch.nn.BatchNorm1d | torch.nn.BatchNorm2d):
            size = layer.running_mean.shape
            layer.running_mean.copy_(0.3 * torch.randn(size, generator=generator))
            layer.running_var.copy_(0.5 + torch.rand(size, generator=generator))
            layer.weight.data.copy_(0.5 + 0.3 * torch.randn(size, generator=generator))
            layer.bias.data.copy_(0.1 * torch.randn(size, generator=generator))
    if isinstance(net.inputs, inputs.Pixels | inputs.Scale):
        net.inputs.mean.fill_(0.4)
        net.inputs.std.fill_(0.3)
    else:
        net.body.words.weight.data.copy_(torch.randn(net.body.words.weight.shape, generator=generator))
    return net


@pytest.mark.parametrize(("chosen", "shape"), NETS)
def test_every_net_answers_as_torch_does(chosen, shape):
    torch.manual_seed(0)
    net = lived(choice.build(chosen, shape)).train()  # exporting looks at a copy in evaluation mode
    graph = export.graph(net, shape, ("a", "b", "c", "d"))
    assert net.training
    session = runtime.Session(graph, threads=1)
    for count in (1, 5):
        rows = some(shape, count)
        known = evaluation.posterior(net, batches.Source(rows, torch.device("cpu")))
        said = session.probabilities(rows)
        np.testing.assert_allclose(said, known, atol=1e-5, rtol=0)
        np.testing.assert_allclose(said.sum(1), 1, atol=1e-12)


def test_layers_without_an_activation_between_them_become_one():
    net = choice.build(config.LeNet(), GREY)
    graph = export.graph(net, GREY, ())
    weights = sum(value.numel() for value in net.state_dict().values()) * 4
    assert len(graph) < weights / 10  # the 500 hidden units of the LeNet are linear


def test_feature_maps_beyond_whole_blocks_are_computed_at_four_points_at_once():
    made = onnx.load_from_string(export.graph(choice.build(config.LeNet(), GREY), GREY, ()))
    kernels = {value.name: tuple(value.dims) for value in made.graph.initializer}
    convolutions = [kernels[node.input[1]][:3] for node in made.graph.node if node.op_type == "Conv"]
    first, second = [(16, 1, 5), (16, 1, 6)], [(48, 16, 5), (48, 4, 5), (8, 16, 6), (8, 4, 6)]
    assert convolutions == first + second  # the runtime would fill 20 up to 32 and 50 up to 64


def test_pixels_are_scaled_map_by_map():
    made = onnx.load_from_string(export.graph(choice.build(config.LeNet(), GREY), GREY, ()))
    assert [node.op_type for node in made.graph.node][:4] == ["Transpose", "Cast", "Mul", "Add"]


def test_the_same_net_gives_the_same_bytes():
    net = choice.build(config.Mlp(), Shape("vectors", 3, width=2))
    assert export.graph(net, Shape("vectors", 3, width=2), (1, 2)) == export.graph(
        net, Shape("vectors", 3, width=2), (1, 2)
    )


def test_a_graph_that_answers_otherwise_is_not_published(monkeypatch):
    shape = Shape("vectors", 3, width=2)
    net, other = choice.build(config.Mlp(), shape), choice.build(config.Mlp(), shape)
    rows = some(shape, 6)
    assert export.checked(net, shape, (), rows)
    wrong = export.graph(other, shape, ())
    monkeypatch.setattr(export, "graph", lambda *_: wrong)
    with pytest.raises(errors.Unfaithful, match="otherwise than the net"):
        export.checked(net, shape, (), rows)


def test_a_layer_without_a_form_is_named():
    shape = Shape("vectors", 3, width=2)
    odd = classifier.Classifier(inputs.Scale(2), torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.GELU()))
    with pytest.raises(errors.InvalidModel, match="GELU"):
        export.graph(odd, shape, ())
    with pytest.raises(errors.InvalidModel, match="no classifier of ours"):
        export.graph(torch.nn.Linear(2, 3), shape, ())


def test_bytes_that_are_no_graph_are_an_invalid_model():
    with pytest.raises(errors.InvalidModel, match="cannot be loaded"):
        runtime.Session(b"nothing", threads=1)


def test_a_folder_without_a_graph_gets_one_that_serves_it(tmp_path):
    from c2s.commands import entry

    shape, chosen = Shape("image", 3, image=(8, 8, 1)), config.LeNet()
    net = lived(choice.build(chosen, shape)).eval()
    card = {
        "config": {"net": chosen.model_dump(mode="json")},
        "shape": shape.plain(),
        "labels": [1, 2, 3],
        "encoding": {},
        "transition": {"matrix": np.eye(3).tolist()},
        "notes": [],
    }
    checkpoint.save_model(tmp_path / "model", net, card)
    with pytest.raises(errors.NotExported):
        runtime.Runtime.load(tmp_path / "model", threads=1)
    assert entry.main(["export", str(tmp_path)]) == 0
    found = runtime.Runtime.load(tmp_path / "model", threads=1)
    rows = some(shape, 4)
    known = evaluation.posterior(net, batches.Source(rows, torch.device("cpu")))
    np.testing.assert_allclose(found.session.probabilities(rows), known, atol=1e-5)
    before = (tmp_path / "model" / "card.json").read_bytes()
    assert entry.main(["export", str(tmp_path)]) == 0  # again changes nothing
    assert (tmp_path / "model" / "card.json").read_bytes() == before


@pytest.mark.parametrize(("chosen", "shape"), NETS)
def test_every_net_and_its_graph_take_the_temperature(chosen, shape):
    torch.manual_seed(0)
    net = choice.build(chosen, shape).eval()
    rows = export.specimens(net, shape, 8)
    before = runtime.Session(export.graph(net, shape, ()), threads=1).logits(rows)
    after = runtime.Session(export.graph(classifier.tempered(net, 2.5), shape, ()), threads=1).logits(rows)
    np.testing.assert_allclose(after, before / 2.5, rtol=1e-4, atol=1e-5)
