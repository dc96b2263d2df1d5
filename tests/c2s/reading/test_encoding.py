"""Raw rows become the same finite numbers in training and in prediction, by a rule that is plain data."""

import datetime
import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from c2s import data, errors
from c2s.reading import columns, encoding, unused, words

TABLE = {
    "age": [20.0, 30.0, None, 40.0],
    "colour": ["red", "blue", "red", None],
    "member": [True, False, True, True],
    "always": ["x", "x", "x", "x"],
}


def read_back(spec: encoding.Encoding) -> encoding.Encoding:
    return encoding.parse(json.loads(json.dumps(spec.model_dump(mode="json"), allow_nan=False)))


def encode(spec: encoding.Encoding, raw: object) -> np.ndarray:
    x = encoding.apply(spec, raw)
    assert isinstance(x, np.ndarray)
    return x


# --- tables -------------------------------------------------------------------------------------------------


def test_numbers_are_scaled_to_mean_0_and_deviation_1() -> None:
    values = np.random.default_rng(0).normal(50, 7, size=200)
    x = encode(encoding.learn({"a": values}), {"a": values})
    assert x.dtype == np.float32
    np.testing.assert_allclose([x.mean(), x.std()], [0, 1], atol=1e-5)


def test_a_missing_number_is_the_mean_and_is_marked() -> None:
    spec = encoding.learn({"age": TABLE["age"]})
    x = encode(spec, {"age": [30.0, None, float("nan")]})
    assert x.tolist() == [[0, 0], [0, 1], [0, 1]]


def test_a_number_that_is_missing_only_at_prediction_is_the_mean() -> None:
    spec = encoding.learn({"age": [20, 30, 40]})
    assert encode(spec, {"age": [None, 30]}).tolist() == [[0], [0]]


def test_categories_are_ones_among_zeros_in_the_order_of_frequency() -> None:
    spec = encoding.learn({"colour": ["red", "blue", "red"]})
    assert encode(spec, {"colour": ["red", "blue"]}).tolist() == [[1, 0], [0, 1]]


def test_an_unknown_category_is_all_zeros_if_training_had_no_others() -> None:
    spec = encoding.learn({"colour": ["red", "blue", "red"]})
    assert encode(spec, {"colour": ["green", None, ""]}).tolist() == [[0, 0]] * 3


def test_an_unknown_category_joins_the_missing_ones_of_training() -> None:
    spec = encoding.learn({"colour": TABLE["colour"]})
    assert encode(spec, {"colour": ["green", None, "red"]}).tolist() == [[0, 0, 1], [0, 0, 1], [1, 0, 0]]


def test_rare_categories_beyond_the_limit_share_a_column() -> None:
    many = [f"c{number:03}" for number in range(100)]
    spec = encoding.learn({"a": [*many, *many, "c099"]})
    (column,) = spec.columns
    assert isinstance(column, columns.Category)
    assert len(column.values) == unused.MOST_VALUES
    assert column.values[:2] == ("c099", "c000")
    assert encode(spec, {"a": ["c098"]})[0, -1] == 1


def test_names_that_differ_in_every_row_are_dropped() -> None:
    spec = encoding.learn({"name": [f"n{number}" for number in range(100)], "a": range(100)})
    assert spec.dropped == ("name",)
    assert encode(spec, {"a": [0]}).shape == (1, 1)


def test_constant_and_empty_columns_are_dropped() -> None:
    raw = {"a": [1, 2], "one": [0.1, 0.1], "same": ["x", "x"], "none": [None, None]}
    spec = encoding.learn(raw)
    assert [column.name for column in spec.columns] == ["a"]
    assert spec.dropped == ("one", "same", "none")


def test_a_constant_that_is_sometimes_missing_says_when() -> None:
    spec = encoding.learn({"a": [5, None, 5], "b": ["x", None, "x"]})
    assert encode(spec, {"a": [5, None], "b": ["x", None]}).tolist() == [[0, 0, 1, 0], [0, 1, 0, 1]]


def test_a_table_that_says_nothing_is_refused() -> None:
    with pytest.raises(errors.InvalidDataset, match="nothing to learn from in 'a'"):
        encoding.learn({"a": [1, 1]})
    with pytest.raises(errors.InvalidDataset, match="no rows"):
        encoding.learn({"a": []})


def test_booleans_may_come_as_zero_and_one() -> None:
    spec = encoding.learn({"member": TABLE["member"]})
    np.testing.assert_array_equal(encode(spec, {"member": [True, False]}), encode(spec, {"member": [1, 0]}))


def test_dates_count_as_time_and_may_come_as_text() -> None:
    days = [datetime.date(2024, 1, day) for day in (1, 2, 3)]
    spec = encoding.learn({"day": days})
    x = encode(spec, {"day": days})
    np.testing.assert_allclose(x[:, 0], [-1.224745, 0, 1.224745], atol=1e-5)
    np.testing.assert_array_equal(
        encode(read_back(spec), {"day": ["2024-01-01", "2024-01-02", "2024-01-03"]}), x
    )


@pytest.mark.parametrize("number", [np.inf, -np.inf, 1e39])
def test_numbers_beyond_float32_are_missing_in_training_and_afterwards(number: float) -> None:
    spec = encoding.learn({"a": [1.0, 2.0, number]})
    assert spec == encoding.learn({"a": [1.0, 2.0, None]})
    for other in (spec, encoding.learn({"a": [1.0, 2.0]})):
        np.testing.assert_array_equal(encode(other, {"a": [1.0, number]}), encode(other, {"a": [1.0, None]}))
        np.testing.assert_array_equal(encode(other, {"a": [str(number)]}), encode(other, {"a": [None]}))


@pytest.mark.parametrize("number", [2**63, 2**64 - 1, -(2**63) - 1])
def test_integers_that_take_more_than_64_bits_are_numbers(number: int) -> None:
    spec = encoding.learn({"a": [1.0, 2.0]})
    np.testing.assert_array_equal(encode(spec, {"a": [1, number]}), encode(spec, {"a": [1.0, float(number)]}))
    names = encoding.learn({"c": ["x", "y"]})
    np.testing.assert_array_equal(encode(names, {"c": [number]}), encode(names, {"c": [None]}))
    with pytest.raises(errors.InvalidDataset, match="one value a row"):
        encoding.apply(spec, {"a": [[number]]})


@pytest.mark.parametrize("number", [np.inf, 1e39, np.nan])
def test_columns_of_plain_vectors_know_no_missing_numbers(number: float) -> None:
    spec = encoding.VectorEncoding(width=2, columns=("a", "b"))
    with pytest.raises(errors.InvalidDataset, match="column 'b', row 1 holds NaN, an infinity or no float32"):
        encoding.apply(spec, {"a": [1.0, 2.0], "b": [1.0, number]})


def test_a_number_that_scaling_carries_beyond_float32_is_refused() -> None:
    spec = encoding.learn({"a": [0.0, 1e-30]})
    with pytest.raises(errors.InvalidDataset, match="column 'a': the number is too far"):
        encoding.apply(spec, {"a": [1e30]})


def test_numbers_too_small_to_square_are_still_encoded() -> None:
    assert np.isfinite(encode(encoding.learn({"a": [0.0, 1e-200]}), {"a": [1e-200]})).all()


def test_words_where_numbers_belong_are_refused_by_column() -> None:
    spec = encoding.learn({"a": [1, 2]})
    assert encode(spec, {"a": ["1", "2"]}).tolist() == [[-1], [1]]
    with pytest.raises(errors.InvalidDataset, match=r"column 'a' must hold numbers.*'many'"):
        encoding.apply(spec, {"a": ["many"]})


def test_a_missing_column_is_named_and_extra_ones_are_ignored() -> None:
    spec = encoding.learn(TABLE)
    with pytest.raises(errors.InvalidDataset, match="column 'age' is missing; there is 'colour', 'member'"):
        encoding.apply(spec, {"colour": ["red"], "member": [True]})
    extra = {**TABLE, "nested": [[1], [2], [3], [4]]}
    np.testing.assert_array_equal(encode(spec, extra), encode(spec, TABLE))


@pytest.mark.parametrize(
    "form",
    [
        pa.table,
        lambda raw: pa.table(raw).to_pylist(),
        lambda raw: {name: np.array(values, dtype=object) for name, values in raw.items()},
        lambda raw: pa.table({**raw, "colour": pa.array(raw["colour"]).dictionary_encode()}),
    ],
)
def test_tables_rows_and_arrays_are_encoded_alike(form: object) -> None:
    assert callable(form)
    spec = encoding.learn(TABLE)
    assert encoding.learn(form(TABLE)) == spec
    np.testing.assert_array_equal(encode(spec, form(TABLE)), encode(spec, TABLE))


def test_a_key_that_some_training_rows_lack_is_a_missing_value() -> None:
    lacking = [{"a": 1, "b": 1}, {"a": 2, "b": 2}, {"a": 3}]
    assert encoding.learn(lacking) == encoding.learn([*lacking[:2], {"a": 3, "b": None}])


@pytest.mark.parametrize(
    "wrong",
    [
        {"a": [[1], [2]]},
        {"a": [b"x", b"y"]},
        {"a": [1, "x"]},
        {"a": "xy"},
        {"a": [1, 2], "b": [1]},
        {"a": np.zeros((2, 2))},
        {1: [1, 2]},
        [1, 2],
        "rows",
        None,
    ],
)
def test_what_is_no_table_is_refused(wrong: object) -> None:
    with pytest.raises(errors.InvalidDataset):
        encoding.learn(wrong)


VALUES = st.one_of(st.none(), st.floats(width=32, allow_infinity=False), st.integers(-(2**40), 2**40))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(VALUES, st.one_of(st.none(), st.text(max_size=3))), min_size=1, max_size=20))
def test_a_spec_read_back_from_json_encodes_equally_and_finitely(
    rows: list[tuple[float | None, str | None]],
) -> None:
    floats = [None if number is None else float(number) for number, _ in rows]
    raw = {
        "anchor": [*range(len(rows)), -1],
        "number": [*floats, None],
        "name": [*(name for _, name in rows), None],
    }
    spec = encoding.learn(raw)
    x = encode(spec, raw)
    assert x.shape == (len(rows) + 1, spec.width)
    assert np.isfinite(x).all()
    assert read_back(spec) == spec
    np.testing.assert_array_equal(encode(read_back(spec), raw), x)


# --- texts, vectors, images ---------------------------------------------------------------------------------


def test_texts_come_as_lists_arrays_or_columns() -> None:
    found = ["one cat", "one dog", ""]
    spec = read_back(words.learn(found, column="body"))
    expected = words.bags(words.learn(found), found)
    for raw in (
        found,
        np.array(found),
        {"body": ["one cat", "one dog", None], "n": [1, 2, 3]},
        [{"body": t} for t in found],
    ):
        bags = encoding.apply(spec, raw)
        assert isinstance(bags, data.Bags)
        np.testing.assert_array_equal(bags.indptr, expected.indptr)
        np.testing.assert_array_equal(bags.weights, expected.weights)


@pytest.mark.parametrize("wrong", ["one text", {"other": ["x"]}, [["nested"]], ["\ud800"], [1, "x"]])
def test_what_holds_no_texts_is_refused(wrong: object) -> None:
    spec = words.learn(["cat", "cat"], column="body")
    with pytest.raises(errors.InvalidDataset):
        encoding.apply(spec, wrong)


def test_vectors_come_as_arrays_or_columns() -> None:
    spec = read_back(encoding.VectorEncoding(width=2, columns=("a", "b")))
    assert encode(spec, {"b": [2, 4], "a": [1, 3], "c": ["x", "y"]}).tolist() == [[1, 2], [3, 4]]
    assert encode(spec, [[1, 2], [3, 4]]).dtype == np.float32


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ([[1, 2, 3]], "2 numbers wide"),
        ([1, 2], "2 numbers wide"),
        ([[1, 2], [3]], "array of numbers"),
        ([["a", "b"]], "must be numbers"),
        ([[1, 2], [3, np.nan]], "column 'b', row 1"),
        ({"a": [1], "b": [None]}, "column 'b' holds NaN"),
        ({"a": [1]}, "column 'b' is missing"),
    ],
)
def test_what_holds_no_such_vectors_is_refused(wrong: object, reason: str) -> None:
    with pytest.raises(errors.InvalidDataset, match=reason):
        encoding.apply(encoding.VectorEncoding(width=2, columns=("a", "b")), wrong)


def test_images_come_as_bytes_integers_or_fractions() -> None:
    pixels = np.arange(12, dtype=np.uint8).reshape(2, 2, 3) * 20
    spec = read_back(encoding.from_array(pixels))
    assert spec == encoding.ImageEncoding(height=2, width=3, channels=1)
    for raw in (pixels, pixels[..., None], pixels.tolist(), pixels / 255):
        x = encode(spec, raw)
        assert x.dtype == np.uint8
        np.testing.assert_array_equal(x, pixels[..., None])
    assert encode(spec, np.zeros((0, 2, 3))).shape == (0, 2, 3, 1)


@pytest.mark.parametrize(
    "wrong",
    [
        np.zeros((1, 3, 2)),
        np.full((1, 2, 3), 256),
        np.full((1, 2, 3), 1.5),
        np.full((1, 2, 3), np.nan),
        {"x": [1]},
    ],
)
def test_what_holds_no_such_images_is_refused(wrong: object) -> None:
    with pytest.raises(errors.InvalidDataset):
        encoding.apply(encoding.ImageEncoding(height=2, width=3, channels=1), wrong)


def test_a_dataset_from_arrays_takes_arrays_of_its_shape() -> None:
    dataset = data.from_arrays(np.eye(4), [0, 1, 0, 1])
    assert encoding.of(dataset) == encoding.VectorEncoding(width=4)
    with pytest.raises(errors.InvalidDataset, match="shape"):
        encoding.from_array(np.zeros(3))


def test_a_dataset_keeps_the_encoding_it_was_made_with() -> None:
    spec = encoding.learn(TABLE)
    x = encode(spec, TABLE)
    plain = spec.model_dump(mode="json")
    dataset = data.Dataset(x, np.array([0, 1, 0, 1]), ("a", "b"), "tabular", encoding=plain)
    assert encoding.of(dataset) == spec


@pytest.mark.parametrize(
    "wrong", [{}, {"kind": "audio"}, {"kind": "vectors", "width": 0}, {"kind": "tabular", "columns": []}, 3]
)
def test_an_encoding_that_cannot_be_read_back_is_an_invalid_model(wrong: object) -> None:
    with pytest.raises(errors.InvalidModel, match="encoding"):
        encoding.parse(wrong)


def test_the_module_loads_without_arrow_torch_or_scikit_learn() -> None:
    code = "import sys; from c2s.reading import encoding, files; "
    code += "print({'torch', 'sklearn', 'pyarrow'} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "set()"


def test_a_whole_1_of_images_that_came_as_fractions_is_white():
    spec = encoding.from_array(np.array([[[0.0, 1.0], [0.5, 0.0]]] * 2))
    white = encoding.apply(spec, [[[0, 1], [1, 0]]])
    assert white.max() == 255
    assert (white == encoding.apply(spec, [[[0.0, 1.0], [1.0, 0.0]]])).all()
    of_bytes = encoding.from_array(np.array([[[0, 200], [1, 0]]] * 2, dtype=np.uint8))
    assert encoding.apply(of_bytes, [[[0, 1], [1, 0]]]).max() == 1


def test_numbers_written_as_text_are_numbers_and_what_means_missing_is_missing():
    spec = encoding.learn({"size": [1.0, 2.0, None, 4.0]})
    mixed = encoding.apply(spec, [{"size": "2"}, {"size": 2}, {"size": "NA"}, {"size": None}])
    assert (mixed[0] == mixed[1]).all()
    assert (mixed[2] == mixed[3]).all()
    with pytest.raises(errors.InvalidDataset, match="'size' must hold numbers: row 1 holds 'tall'"):
        encoding.apply(spec, [{"size": 3}, {"size": "tall"}])


def test_a_row_is_not_read_by_what_its_neighbours_have():
    spec = encoding.learn({"a": [1, 2], "b": [3, 4]})
    whole = {"a": 1, "b": 3}
    with pytest.raises(errors.InvalidDataset, match="column 'b' is missing; there is 'a'"):
        encoding.apply(spec, [{"a": 1}])
    with pytest.raises(errors.InvalidDataset, match="column 'b' is missing in row 1; there is 'a'"):
        encoding.apply(spec, [whole, {"a": 1}, whole])
    more = encoding.apply(spec, [whole, {**whole, "unasked": 1}])
    assert (more[0] == more[1]).all()
