import dataclasses
import typing

import numpy as np
import pytest
import torch

from c2s import config, defaults, errors, shape
from c2s.matrix import noise, transition
from c2s.methods import choice, droprates, losses, matrices
from c2s.methods.method import LEFT_OUT, Evidence, of_every_class

KINDS = typing.get_args(typing.get_args(config.MethodConfig)[0])
CURVE = (0.5,) * 12
BUILT = [kind() for kind in KINDS if kind not in (config.S2E, config.Auto)] + [config.S2E(curve=CURVE)]
TWO_NETS = (config.CoTeaching, config.JoCoR, config.S2E)
C = 5


def evidence(T_c: np.ndarray | None = None) -> Evidence:
    y = np.arange(40) % C
    suspects = np.zeros(40, dtype=bool)
    suspects[:7] = True
    return Evidence(y, noise.symmetric(C, 0.4) if T_c is None else T_c, np.full(C, 1 / C), suspects)


@pytest.mark.parametrize("chosen", BUILT, ids=lambda chosen: chosen.name)
def test_every_method_answers_the_three_questions(chosen):
    method, facts = choice.build(chosen), evidence()
    targets = method.targets(facts)
    assert targets.shape == facts.y.shape
    T = method.transition(facts)
    nets = (2,) if isinstance(chosen, TWO_NETS) else ()
    logits = torch.randn(*nets, 40, C, generator=torch.Generator().manual_seed(0), requires_grad=True)
    used = torch.from_numpy(np.flatnonzero(targets != LEFT_OUT))
    loss = method.loss(logits[..., used, :], torch.from_numpy(targets)[used], T())
    loss.backward()
    assert torch.isfinite(loss)
    assert logits.grad is not None
    assert logits.grad.abs().sum() > 0
    torch.testing.assert_close(T.class_matrix().sum(1), torch.ones(C))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind().name)
def test_a_method_can_be_named_by_a_string(kind):
    assert config.TrainConfig.parse({"method": kind().name}).method == kind()


@pytest.mark.parametrize("name", ["volmin", "revision"])
def test_methods_that_learn_the_matrix_send_it_a_gradient(name):
    method = choice.build(config.TrainConfig.parse({"method": name}).method)
    facts = evidence()
    T = method.transition(facts)
    logits = torch.randn(40, C, generator=torch.Generator().manual_seed(0))
    method.loss(logits, torch.from_numpy(facts.y), T()).backward()
    assert all(parameter.grad is not None and parameter.grad.abs().sum() > 0 for parameter in T.parameters())
    assert T.learning_rate is not None


def test_fixed_matrices_learn_nothing():
    T = choice.build(config.Forward()).transition(evidence())
    assert list(T.parameters()) == []
    assert T.learning_rate is None


@pytest.mark.parametrize("name", ["prune", "prune-class2simi"])
def test_pruning_leaves_the_suspects_out(name):
    targets = choice.build(config.TrainConfig.parse({"method": name}).method).targets(evidence())
    assert (targets[:7] == LEFT_OUT).all()
    assert (targets[7:] == evidence().y[7:]).all()


def test_a_class_that_would_lose_all_rows_that_are_learnt_from_keeps_them():
    y, rows = np.array([0, 0, 1, 1, 1, 2]), np.array([0, 1, 2, 3])
    targets = np.where([True, False, True, True, False, True], LEFT_OUT, y)
    kept = of_every_class(targets, y, rows)
    assert kept.tolist() == [LEFT_OUT, 0, 1, 1, 1, LEFT_OUT]
    assert targets.tolist() == [LEFT_OUT, 0, LEFT_OUT, LEFT_OUT, 1, LEFT_OUT]


def test_the_paper_s_correction_serves_symmetric_noise_and_the_exact_one_pair_flips():
    symmetric, flips = noise.symmetric(C, 0.4), noise.pair_flip(C, 0.45)
    method = choice.build(config.ForwardSimi())
    T_s = transition.similarity_from_class(symmetric)
    chosen = method.transition(evidence(symmetric))().double().numpy()
    np.testing.assert_allclose(chosen, transition.averaged_form(T_s, C), atol=1e-7)
    exact = method.transition(evidence(flips))().double().numpy()
    np.testing.assert_allclose(exact, flips @ flips.T, atol=1e-7)


def test_forward_beside_pairs_is_weighted_by_the_batch():
    facts, logits = evidence(), torch.randn(40, C, generator=torch.Generator().manual_seed(0))
    y = torch.from_numpy(facts.y)
    found = {}
    for weight in (0.0, 1.0):
        method = choice.build(config.ForwardSimi(forward=weight))
        found[weight] = method.loss(logits, y, method.transition(facts)())
    T = torch.tensor(facts.T_c, dtype=torch.float32)
    torch.testing.assert_close(found[1.0] - found[0.0], 2 / 40 * losses.forward(logits, y, T))


def test_forward_stands_beside_pairs_where_they_say_little():
    method = choice.build(config.ForwardSimi())
    assert method.transition(evidence(noise.symmetric(C, 0.4)))().ndim == 2
    assert method.transition(evidence(noise.symmetric(C, 0.6)))().ndim == 3
    alone = choice.build(config.ForwardSimi(forward=0.0))
    assert alone.transition(evidence(noise.symmetric(C, 0.6)))().ndim == 2


def test_forward_stands_beside_faint_pairs_however_many_rows_there_are():
    few = evidence(noise.symmetric(C, 0.6))
    many = dataclasses.replace(few, y=np.tile(few.y, 1000), suspects=np.tile(few.suspects, 1000))
    assert choice.build(config.ForwardSimi()).transition(many)().ndim == 3


@pytest.mark.parametrize("correction", ["similarity", "exact"])
def test_a_correction_that_is_asked_for_is_used(correction):
    flips = noise.pair_flip(C, 0.45)
    T_s = transition.similarity_from_class(flips)
    form = {"similarity": transition.averaged_form(T_s, C), "exact": flips @ flips.T}[correction]
    used = choice.build(config.ReweightSimi(correction=correction)).transition(evidence(flips))()
    np.testing.assert_allclose(used.double().numpy(), form, atol=1e-7)


@pytest.mark.parametrize("classes", [2, 3, 10, 100])
def test_a_learnt_matrix_starts_dominant_whatever_the_class_count(classes):
    T = matrices.Learnt(classes, learning_rate=0.01)().detach()
    diagonal = T.diagonal()
    assert (diagonal > T[0, 1]).all()
    assert 0.45 < float(diagonal[0]) < 0.7


def test_a_revised_matrix_keeps_its_rows_distributions():
    T = matrices.Revised(noise.pair_flip(3, 0.2), learning_rate=1.0)
    with torch.no_grad():
        T.delta.fill_(-0.3).diagonal().fill_(0.1)
    revised = T().detach()
    assert (revised >= 0).all()
    torch.testing.assert_close(revised.sum(1), torch.ones(3))


@pytest.mark.parametrize("name", ["co-teaching", "jocor"])
def test_as_many_rows_are_dropped_as_the_matrix_finds_wrong_unless_declared(name):
    found = choice.build(config.TrainConfig.parse({"method": name}).method).transition(evidence())
    declared = choice.build(config.TrainConfig.parse({"method": {"name": name, "drop_rate": 0.1}}).method)
    late = droprates.Moment(9, 10)
    assert float(found(late)) == pytest.approx(0.4)
    assert float(declared.transition(evidence())(late)) == pytest.approx(0.1)


@pytest.mark.parametrize("chosen", [config.S2E(), config.Auto()])
def test_what_is_still_to_be_chosen_is_not_built(chosen):
    with pytest.raises(errors.InvalidConfig, match="before anything is built"):
        choice.build(chosen)


@pytest.mark.parametrize(
    ("classes", "passive", "weights"), [(10, "rce", (1, 1)), (100, "rce", (10, 0.1)), (100, "mae", (10, 1))]
)
def test_the_weights_of_apl_follow_the_class_count(classes, passive, weights):
    chosen = config.TrainConfig.parse({"method": {"name": "apl", "passive": passive}})
    method = defaults.resolve(chosen, shape.Shape(kind="vectors", classes=classes, width=3), 1000).method
    assert (method.alpha, method.beta) == weights
