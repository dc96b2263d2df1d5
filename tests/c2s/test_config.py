import numpy as np
import pytest

from c2s import config, defaults, errors
from c2s.shape import Shape

IMAGES = Shape(kind="image", classes=10, image=(28, 28, 1))
VECTORS = Shape(kind="vectors", classes=100, width=20)


@pytest.mark.parametrize(
    ("raw", "where"),
    [
        ({"methd": "ce"}, "methd"),
        ({"method": "magic"}, "method"),
        ({"method": {"name": "forward", "lr": 1}}, "method"),
        ({"stage1": {"epochs": -1}}, "stage1.epochs"),
        ({"stage2": {"batch_size": 1}}, "stage2.batch_size"),
        ({"stage2": {"learning_rate": float("nan")}}, "stage2.learning_rate"),
        ({"validation": 1.0}, "validation"),
        ({"transition": {"estimator": "guess"}}, "transition"),
        ({"seed": -1}, "seed"),
        ({"net": {"name": "mlp", "hidden": [0]}}, "net"),
    ],
)
def test_what_no_job_can_run_with_is_refused_by_name(raw, where):
    with pytest.raises(errors.InvalidConfig, match=where):
        config.TrainConfig.parse(raw)


def test_an_empty_request_is_a_whole_config():
    chosen = config.TrainConfig.parse({})
    assert chosen.method == config.ForwardSimi()
    assert config.TrainConfig.parse(chosen.model_dump(mode="json")) == chosen


def test_a_config_cannot_be_changed():
    with pytest.raises(ValueError, match="frozen"):
        config.TrainConfig().seed = 3


def test_resolving_leaves_nothing_open_and_changes_nothing_chosen():
    chosen = config.TrainConfig.parse({"stage1": {"epochs": 3, "batch_size": 64}, "net": "lenet-5"})
    resolved = defaults.resolve(chosen, IMAGES, 60_000)
    assert resolved.net == config.LeNet5()
    assert (resolved.stage1.epochs, resolved.stage1.batch_size) == (3, 64)
    assert resolved.stage2.epochs == 6
    assert resolved.stage1.augment == config.Augment(shift=2)
    assert resolved.stage2.batch_size == 128
    assert resolved.transition.posteriors == "in-sample"
    assert defaults.resolve(resolved, IMAGES, 60_000) == resolved


@pytest.mark.parametrize(
    ("sides", "reach"), [((28, 28), 2), ((8, 8), 1), ((3, 3), 0), ((1, 1), 0), ((1, 64), 0), ((8, 64), 2)]
)
def test_no_picture_is_shifted_out_of_itself(sides, reach):
    about = Shape(kind="image", classes=2, image=(*sides, 1))
    assert defaults.resolve(config.TrainConfig(), about, 500).stage1.augment.shift == reach


def test_small_data_gets_more_epochs_smaller_batches_and_cross_fitting():
    resolved = defaults.resolve(config.TrainConfig(), VECTORS, 300)
    assert resolved.stage1.epochs == 15
    assert resolved.stage1.batch_size == 270 // 8
    assert resolved.transition.posteriors == "k-fold"


@pytest.mark.parametrize(
    ("rows", "asked", "rounds"),
    [
        (300, {}, 4),
        (2_000, {}, 4),
        (6_000, {}, 1),  # steps enough
        (300, {"stage1": {"epochs": 15}}, 1),  # as long as was asked for
        (300, {"stage1": {"epochs": 15, "rounds": 3}}, 3),
        (300, {"stage1": {"rounds": 1}}, 1),
        (300, {"stage1": {"rounds": 3}, "transition": {"posteriors": "in-sample"}}, 1),  # nothing could tell
        (300, {"transition": {"matrix": [[0.9, 0.1], [0.2, 0.8]]}}, 1),
    ],
)
def test_stage_1_may_go_on_where_its_steps_are_few_and_its_length_is_left_open(rows, asked, rounds):
    resolved = defaults.resolve(config.TrainConfig.parse(asked), VECTORS, rows)
    assert resolved.stage1.rounds == rounds
    assert defaults.resolve(resolved, VECTORS, rows) == resolved  # what the service resolved stays as it is


def test_many_classes_get_batches_with_enough_similar_pairs():
    many = Shape(kind="vectors", classes=1000, width=20)
    size = defaults.resolve(config.TrainConfig(), many, 1_000_000).stage1.batch_size
    assert size * (size - 1) / (2 * 1000) >= 49
    assert np.isclose(size, 317)


def test_a_given_matrix_stays_given():
    chosen = config.TrainConfig.parse({"transition": {"matrix": [[0.9, 0.1], [0.2, 0.8]]}})
    assert defaults.resolve(chosen, IMAGES, 100).transition == chosen.transition


def test_every_config_describes_itself_as_json_schema():
    described = config.TrainConfig.model_json_schema()
    assert described["additionalProperties"] is False
    assert {"method", "net", "stage1", "stage2", "transition", "seed"} <= set(described["properties"])


def test_a_single_row_held_out_is_told_as_one():
    assert defaults.held_notes(1, 2)[0].startswith("Only 1 row is held out")
    assert defaults.held_notes(3, 2)[0].startswith("Only 3 rows are held out")


@pytest.mark.parametrize(
    ("classes", "rows", "weight"),
    [(8, 2_799, 16.0), (8, 2_800, 1.0), (8, 11_999, 1.0), (8, 12_000, None), (7, 700, None)],
)
def test_of_many_classes_with_few_rows_each_pairs_learn_beside_rows(classes, rows, weight):
    about = Shape(kind="vectors", classes=classes, width=3)
    resolved = defaults.resolve(config.TrainConfig(), about, rows)
    assert resolved.method == config.ForwardSimi(forward=weight)
    assert defaults.resolve(resolved, about, rows) == resolved
    asked = config.TrainConfig(method=config.ForwardSimi(forward=0.0))
    assert defaults.resolve(asked, about, rows).method == asked.method
