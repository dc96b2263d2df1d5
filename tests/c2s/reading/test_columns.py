"""How numbers are written."""

import pytest

from c2s import errors
from c2s.reading import columns, commas, files


@pytest.mark.parametrize("sign", [",", "."])
def test_numbers_of_a_semicolon_file_may_have_decimal_commas(tmp_path, sign):
    path = tmp_path / "excel.csv"
    lines = [f"{i}{sign}5;{'ab'[i % 2]}" for i in range(20)]
    path.write_text("\n".join(["size;y", *lines]), encoding="utf-8-sig")
    spec = files.read(path).encoding["columns"][0]
    assert (spec["kind"], spec["mean"]) == ("number", 10.0)


@pytest.mark.parametrize(
    ("text", "sign", "point"), [("1,5,2,5", ",", "."), ("1,5;2,5", ";", ","), ("1.5;2.5;1,000,000", ";", ".")]
)
def test_a_comma_that_parts_columns_is_no_decimal_sign(tmp_path, text, sign, point):
    path = tmp_path / "numbers.csv"
    path.write_text(text)
    assert commas.decimal_point(path, sign) == point


@pytest.mark.parametrize(
    ("values", "time", "said"),
    [
        ([[1], [2]], False, "column 'a' must hold numbers"),
        (["soon", "never"], True, "column 'a' must hold dates, written as 2024-12-31 or 2024-12-31T23:59:59"),
        (["one", "2"], False, "column 'a' must hold numbers: row 0 holds 'one'"),
        (["one"], False, "column 'a' must hold numbers, not 'one'"),
        ([1, "one"], False, "column 'a' must hold one value a row, all of them numbers or all texts"),
    ],
)
def test_what_is_wrong_with_a_column_is_said_in_our_words(values, time, said):
    with pytest.raises(errors.InvalidDataset) as caught:
        columns.numbers(columns.arrow(values, "a"), "a", time=time)
    assert str(caught.value) == said
