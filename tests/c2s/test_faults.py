"""What is wrong with a config, in a user's words: one fault a place, and none that only follows from another."""

import json
from typing import get_args

import pytest
from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from c2s import config, errors, faults

METHODS = "one of 'ce', 'mcl', "
ESTIMATORS = "must be one of " + ", ".join(map(repr, (*get_args(config.Estimator), "auto")))


def told(raw):
    """The faults of a config by their places."""
    with pytest.raises(ValidationError) as caught:
        config.TrainConfig.model_validate(raw)
    return {".".join(map(str, one.place)): one.detail for one in faults.read(caught.value.errors(), raw)}


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ({"transition": "foo"}, {"transition": ESTIMATORS}),
        ({"transition": {"estimator": "foo"}}, {"transition.estimator": ESTIMATORS}),
        ({"transition": {"estimator": {"auto": 1}}}, {"transition.estimator": ESTIMATORS}),
        ({"stage1": {"optimizer": "foo"}}, {"stage1.optimizer": "must be one of 'adam', 'sgd'"}),
        ({"stage1": 5}, {"stage1": "must be an object"}),
        ({"net": {"name": "mlp", "hidden": "x"}}, {"net.hidden": "must be a list"}),
        ({"merge": None}, {"merge": "must be a list"}),
        ({"transition": {"matrix": "x"}}, {"transition.matrix": "must be a list"}),
        ({"merge": [[1, 2]]}, {"merge.0.0": "must be text", "merge.0.1": "must be text"}),
        ({"merge": [["a"]]}, {"merge.0": "must have at least 2 entries, not 1"}),
        ({"method": {"name": "s2e", "curve": ["a", *[0] * 11]}}, {"method.curve.0": "must be a number"}),
        (
            {"method": {"name": "s2e", "curve": [0] * 3}},
            {"method.curve": "must have at least 12 entries, not 3"},
        ),
        ({"method": {"name": "s2e", "curve": [0] * 13}}, {"method.curve": "must have at most 12 entries"}),
        (
            {"methd": "ce", "seed": -1},
            {"methd": "there is no such field", "seed": "must be greater than or equal to 0"},
        ),
    ],
)
def test_each_place_that_is_wrong_is_told_once_in_plain_words(raw, expected):
    assert told(raw) == expected


@pytest.mark.parametrize("method", [5, None, [], True])
def test_what_is_no_name_and_no_object_is_told_what_a_method_is(method):
    found = told({"method": method})
    assert found["method"].startswith(f"must be a name, or an object with a `name`: {METHODS}")


def test_the_names_are_listed_where_the_name_is_wrong_or_missing():
    assert told({"method": "foo"})["method"].startswith(f"must be {METHODS}")
    assert told({"method": {"name": "foo"}})["method.name"].startswith(f"must be {METHODS}")
    assert told({"method": {}})["method.name"].startswith(f"is missing: {METHODS}")
    assert told({"stage1": {"schedule": {}}})["stage1.schedule.name"].startswith(
        "is missing: one of 'constant'"
    )


@pytest.mark.parametrize("raw", [5, None, [[1, 0], [0, 1]]])
def test_a_transition_is_an_estimator_or_an_object(raw):
    assert told({"transition": raw}) == {
        "transition": "must be the name of an estimator, or an object with an `estimator` or a `matrix`"
    }


def test_an_estimator_and_a_matrix_exclude_each_other():
    both = {"estimator": "anchors", "matrix": [[1, 0], [0, 1]]}
    assert "leave `estimator` out, or the matrix" in told({"transition": both})["transition"]


def test_all_faults_of_a_config_are_in_its_refusal():
    with pytest.raises(errors.InvalidConfig) as caught:
        config.TrainConfig.parse({"method": {}, "transition": {"estimator": "foo"}})
    assert f"method.name: is missing: {METHODS}" in str(caught.value)
    assert f"; transition.estimator: {ESTIMATORS}" in str(caught.value)
    with pytest.raises(errors.InvalidConfig, match="; and 12 more"):
        config.TrainConfig.parse({f"field-{number}": 1 for number in range(20)})


@pytest.mark.parametrize(
    "raw",
    [
        {"stage1": {"epochs": True}},
        {"stage1": {"epochs": "3"}},
        {"stage2": {"learning_rate": "0.1"}},
        {"stage1": {"augment": {"flip": "true"}}},
        {"transition": {"matrix": [["1", 0], [0, 1]]}},
        {"transition": {"matrix": [[True, 0], [0, 1]]}},
        {"net": {"name": "mlp", "hidden": [True]}},
        {"seed": "1"},
    ],
)
def test_texts_and_truth_values_are_no_numbers(raw):
    with pytest.raises(errors.InvalidConfig, match="must be"):
        config.TrainConfig.parse(raw)


@pytest.mark.parametrize(
    "raw",
    [
        {"stage1": {"learning_rate": 1e300}},
        {"stage2": {"weight_decay": 1e300}},
        {"stage2": {"clip_norm": 1e300}},
        {"stage1": {"elr": {"weight": 1e300}}},
        {"stage1": {"mixup": 1e300}},
        {"method": {"name": "f-class2simi", "forward": 1e300}},
        {"method": {"name": "apl", "alpha": 1e300}},
        {"method": {"name": "volmin", "learning_rate": 1e300}},
        {"method": {"name": "revision", "epochs": 10**12}},
        {"method": {"name": "s2e", "curve": [1e300] * 12}},
        {"transition": {"epochs": 10**12}},
    ],
)
def test_numbers_that_nothing_learns_with_are_refused_beforehand(raw):
    with pytest.raises(errors.InvalidConfig, match="must be less than or equal to 1"):
        config.TrainConfig.parse(raw)


@pytest.mark.parametrize(
    "raw",
    [
        {"stage1": {"learning_rate": 1, "epochs": 3, "schedule": {"name": "step", "factor": 1}}},
        {"method": {"name": "s2e", "curve": [0] * 12}, "merge": [["a", "b"]]},
        {"transition": {"matrix": [[1, 0], [0, 1]]}, "net": {"name": "mlp", "hidden": [3, 4]}},
    ],
)
def test_a_config_that_was_stored_as_json_loads_as_it_was(raw):
    chosen = config.TrainConfig.parse(raw)
    assert config.TrainConfig.parse(json.loads(json.dumps(chosen.model_dump(mode="json")))) == chosen
    assert config.TrainConfig.parse(chosen.model_dump()) == chosen
    assert config.TrainConfig.model_validate_json(chosen.model_dump_json()) == chosen


def test_what_a_validator_says_is_told_as_it_stands():
    class Even(BaseModel):
        model_config = ConfigDict(strict=True)
        n: int

        @field_validator("n")
        @classmethod
        def _even(cls, n):
            if n % 2:
                raise ValueError("must be even")
            return n

    with pytest.raises(ValidationError) as caught:
        Even(n=3)
    assert faults.sentence(caught.value.errors(), {"n": 3}) == "n: must be even, not 3"


def test_kinds_that_would_all_do_are_told_together():
    class Label(BaseModel):
        value: int | bool | str

    raw = {"value": None}
    with pytest.raises(ValidationError) as caught:
        Label.model_validate(raw)
    assert (
        faults.sentence(caught.value.errors(), raw)
        == "value: must be one of a whole number, true or false, text, not None"
    )
