"""Columns of numbers in which a word has strayed."""

import json

import pytest

from c2s import errors
from c2s.reading import encoding, files


def written(path, cells, sign=","):
    lines = [f"{cell}{sign}{number % 5}{sign}{'ab'[number % 2]}" for number, cell in enumerate(cells)]
    path.write_text("\n".join([f"size{sign}other{sign}y", *lines]))
    return path


NUMBERS = [f"{number}.5" for number in range(100)]


def test_a_stray_word_does_not_make_a_column_of_numbers_a_category(tmp_path):
    notes = []
    found = files.read(written(tmp_path / "a.csv", [*NUMBERS, "unknown" * 9]), notes=notes)
    gap = files.read(written(tmp_path / "b.csv", [*NUMBERS, ""]))
    assert (found.x == gap.x).all()
    said = "column 'size' is read as numbers: cells that hold none count as missing (1, such as "
    assert notes == [said + repr(("unknown" * 9)[:40]) + ")"]


def test_a_stray_word_in_rows_to_predict_is_missing_as_in_training(tmp_path):
    spec = files.read(written(tmp_path / "a.csv", [*NUMBERS, "unknown"])).encoding
    x, _ = files.read_inputs(written(tmp_path / "b.csv", ["3.5", "never", ""]), spec)
    assert (x[1][:2] == x[2][:2]).all()
    rows = [{"size": cell, "other": number} for number, cell in enumerate(["3.5", "never", None])]
    assert (encoding.apply(encoding.parse(spec), rows) == x).all()
    rows[0]["size"] = 3.5
    assert (encoding.apply(encoding.parse(spec), rows) == x).all()
    strict = files.read(written(tmp_path / "c.csv", NUMBERS)).encoding
    with pytest.raises(errors.InvalidDataset, match="must hold numbers"):
        encoding.apply(encoding.parse(strict), rows)


@pytest.mark.parametrize(
    "cells",
    [
        [*NUMBERS[:19], "unknown"],  # too few to say
        [*NUMBERS, *["small", "large"] * 3],  # too many others
        [*["12345", "23456"] * 50, "02139", "K1A 0B1"],  # codes
    ],
)
def test_names_and_codes_remain_categories(tmp_path, cells):
    notes = []
    found = files.read(written(tmp_path / "a.csv", cells), notes=notes)
    assert {column["name"]: column["kind"] for column in found.encoding["columns"]}["size"] == "category"
    assert notes == []


def test_decimal_commas_are_numbers_beside_a_stray_word_too(tmp_path):
    commas = [cell.replace(".", ",") for cell in NUMBERS]
    found = files.read(written(tmp_path / "a.csv", [*commas, "unknown"], ";"))
    assert (found.x == files.read(written(tmp_path / "b.csv", [*NUMBERS, "unknown"])).x).all()
    x, _ = files.read_inputs(written(tmp_path / "c.csv", ["3,5", "never"], ";"), found.encoding)
    assert x[0, 0] == found.x[3, 0]


@pytest.mark.parametrize("strict", [True, False])
def test_text_that_a_file_calls_text_is_a_category_whatever_it_looks_like(tmp_path, strict):
    path = tmp_path / "typed.jsonl"
    cells = [*["12", "34"] * 30, "other"] if strict else [*[12, 34] * 30, "other"]
    rows = [{"size": cell, "y": "ab"[number % 3 % 2]} for number, cell in enumerate(cells)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (column,) = files.read(path, left_out=[]).encoding["columns"]
    assert column["kind"] == ("category" if strict else "number")
