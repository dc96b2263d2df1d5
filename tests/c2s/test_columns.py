"""How numbers are written."""

import pytest

from c2s import columns, files


@pytest.mark.parametrize("sign", [",", "."])
def test_numbers_of_a_semicolon_file_may_have_decimal_commas(tmp_path, sign):
    path = tmp_path / "excel.csv"
    lines = [f"{i}{sign}5;{'ab'[i % 2]}" for i in range(20)]
    path.write_text("\n".join(["size;y", *lines]), encoding="utf-8-sig")
    spec = files.read(path).encoding["columns"][0]
    assert (spec["kind"], spec["mean"]) == ("number", 10.0)


def test_a_comma_that_parts_columns_is_no_decimal_sign():
    assert columns.decimal_point(b"1,5,2,5", ",") == "."
    assert columns.decimal_point(b"1,5;2,5", ";") == ","
    assert columns.decimal_point(b"1.5;2.5;1,000,000", ";") == "."
