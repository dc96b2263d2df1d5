import numpy as np
import pytest

from c2s import config, errors
from c2s.matrix import noise, transition
from c2s.paper import settings, sources


def test_noise_names_stand_for_matrices() -> None:
    np.testing.assert_array_equal(settings.matrix("sym-0.2", 10), noise.symmetric(10, 0.2))
    np.testing.assert_array_equal(settings.matrix("pair-0.45", 10), noise.pair_flip(10, 0.45))
    np.testing.assert_array_equal(settings.matrix("clean", 3), np.eye(3))


def test_asymmetric_is_the_authors_matrix_with_the_rate_it_really_has() -> None:
    T_c = settings.matrix("asym-0.6", 10)
    np.testing.assert_array_equal(T_c, noise.random_dominant(10, k=0.24))
    assert transition.noise_rates(T_c).class_ == pytest.approx(0.6032, abs=1e-4)


def test_asymmetric_at_a_rate_the_authors_lack_has_that_rate() -> None:
    assert transition.noise_rates(settings.matrix("asym-0.35", 10)).class_ == pytest.approx(0.35)


@pytest.mark.parametrize("name", ["sym", "sym-2", "sym-0.2x", "uniform-0.2", "", "real"])
def test_what_is_no_noise_name_is_refused(name: str) -> None:
    with pytest.raises(errors.InvalidConfig, match="is no noise"):
        settings.matrix(name, 10)


@pytest.mark.parametrize("preset", settings.PRESETS)
@pytest.mark.parametrize("dataset", sources.LOADERS)
@pytest.mark.parametrize("method", settings.METHODS)
def test_every_preset_is_a_config_for_every_dataset_and_method(
    preset: str, dataset: str, method: str
) -> None:
    chosen = settings.build(preset, dataset, method, seed=3)
    assert chosen.method.name == method.removesuffix(settings.EXACT)
    assert chosen.seed == 3
    assert chosen.validation == 0.1
    assert config.TrainConfig.parse(chosen.model_dump(mode="json")) == chosen


def test_the_paper_preset_repeats_the_authors_on_mnist() -> None:
    chosen = settings.build("paper", "mnist", "f-class2simi", seed=1)
    assert chosen.net == config.LeNet()
    assert (chosen.stage1.epochs, chosen.stage2.epochs) == (8, 30)
    assert chosen.stage1.schedule == config.Constant()
    assert isinstance(chosen.stage2.schedule, config.Step)
    assert (chosen.stage2.schedule.every, chosen.stage2.schedule.delay) == (5, 1)
    assert chosen.stage2.ema is None
    assert chosen.stage2.keep == "best"
    assert isinstance(chosen.transition, config.Estimate)
    assert chosen.transition.estimator == "anchors"
    assert isinstance(chosen.method, config.ForwardSimi)
    assert chosen.method.correction == "similarity"


def test_the_paper_preset_cuts_a_class_where_there_are_many() -> None:
    percentiles = {}
    for dataset in ("mnist", "news20"):
        estimate = settings.build("paper", dataset, "forward", seed=1).transition
        assert isinstance(estimate, config.Estimate)
        percentiles[dataset] = estimate.percentile
    assert percentiles == {"mnist": 97.0, "news20": 99.85}


def test_the_best_preset_averages_weights_and_keeps_the_last_epoch() -> None:
    chosen = settings.build("best", "mnist", "f-class2simi", seed=1)
    assert chosen.stage1.ema == 0.995
    assert chosen.stage1.augment.shift == chosen.stage2.augment.shift == 2
    assert chosen.stage2.schedule == config.Cosine()
    assert chosen.stage2.keep == "last"
    assert chosen.transition == config.Estimate()


def test_pointwise_losses_on_news20_get_more_decay_than_pair_losses() -> None:
    decay = {
        name: settings.build("best", "news20", name, seed=1).stage2.weight_decay for name in settings.METHODS
    }
    assert all(decay[name] < decay["forward"] for name in settings.PAIRWISE)


def test_a_given_matrix_takes_the_place_of_the_estimate_and_holds_pairs_to_it() -> None:
    T_c = noise.symmetric(10, 0.4)
    chosen = settings.build("best", "mnist", "f-class2simi", seed=1, given=T_c)
    assert isinstance(chosen.transition, config.Given)
    np.testing.assert_array_equal(np.array(chosen.transition.matrix), T_c)
    assert isinstance(chosen.method, config.ForwardSimi)
    assert chosen.method.correction == "similarity"


def test_unknown_names_are_refused() -> None:
    with pytest.raises(errors.InvalidConfig, match="is no preset"):
        settings.build("fast", "mnist", "ce", seed=1)
    with pytest.raises(errors.InvalidConfig, match="none of the paper's datasets"):
        settings.build("paper", "imagenet", "ce", seed=1)
    with pytest.raises(errors.InvalidConfig, match="method"):
        settings.build("paper", "mnist", "dividemix", seed=1)


def test_losses_get_their_authors_weights_by_dataset() -> None:
    apl = settings.build("best", "mnist", "apl", seed=1)
    assert (apl.method.alpha, apl.method.beta, apl.stage2.clip_norm) == (1.0, 10.0, 5.0)
    assert settings.build("best", "cifar10-subset", "phuber-ce", seed=1).method.tau == 2.0


def test_a_pair_method_can_be_held_to_the_exact_correction() -> None:
    assert settings.build("paper", "mnist", "f-class2simi-exact", seed=1).method.correction == "exact"
