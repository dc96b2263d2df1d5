"""True labels of some rows, named or found."""

import pytest
from small_tables import CSV, first, parquet

from c2s import data


def test_gold_labels_are_kept_apart_from_the_rows(taken, tmp_path):
    gold = ["yes", "", "no", "", "", "", "", "", "", ""]
    lines = [f"{row},{known}" for row, known in zip(CSV.splitlines(), ["g", *gold], strict=True)]
    report = taken("\n".join(lines), gold="g")
    assert "g" not in report.columns.used
    found = data.load(tmp_path / "out" / "data")
    assert found.gold.tolist() == [1, -1, 0, *[-1] * 7]


def test_gold_numbers_with_gaps_and_rows_that_are_left_out_stay_together(taken, tmp_path):
    columns = {
        "a": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
        "y": [0, 1, None, 1, 0, 1],
        "g": [1.0, None, 0.0, 0.0, None, 1.0],
    }
    taken(parquet(tmp_path, **columns), gold="g")
    assert data.load(tmp_path / "out" / "data").gold.tolist() == [1, -1, 0, -1, 1]


def test_a_column_named_gold_that_holds_labels_is_no_feature_though_nobody_said_so(taken, tmp_path):
    gold = ["no", "", "no", *[""] * 7]
    lines = [f"{row},{known}" for row, known in zip(CSV.splitlines(), ["Gold", *gold], strict=True)]
    report = taken("\n".join(lines))
    assert "Gold" not in report.columns.used
    assert report.notes == ("2 of 10 rows have a gold label, which is no feature",)
    assert data.load(tmp_path / "out" / "data").gold.tolist() == [0, -1, 0, *[-1] * 7]


def test_a_column_of_other_things_that_is_named_gold_is_a_feature(taken, tmp_path):
    report = taken(CSV.replace("age", "gold", 1))
    assert "gold" in report.columns.used
    (note,) = report.notes
    assert note.startswith("column 'gold' is a feature, as few of its cells are labels")
    assert "(gold=gold)" in note
    assert "(drop=gold)" in note
    assert taken(CSV.replace("age", "gold", 1), drop=("gold",)).notes == ()
    assert data.load(tmp_path / "out" / "data").gold is None


def test_the_labels_themselves_cannot_be_gold(taken):
    for chosen in ({"label": "y", "gold": "y"}, {"gold": "y"}):
        reasons = taken(CSV, **chosen)
        assert first(reasons) == ("bad_option", {"parameter": "gold"})
        assert reasons[0]["detail"].startswith("gold and label are the same column, 'y'")


@pytest.mark.parametrize("chosen", [{"gold": "gold"}, {}])
def test_a_row_whose_gold_label_is_no_class_is_left_out_and_named_by_its_line(taken, tmp_path, chosen):
    gold = ["no", "", "on", "", "", "yes", "no", "no", "no", "no"]
    lines = [f"{row},{known}" for row, known in zip(CSV.splitlines(), ["gold", *gold], strict=True)]
    report = taken("\n".join(lines), **chosen)
    (told,) = report.refused.rows
    assert (told.line, told.code) == (4, "bad_gold")
    assert told.detail == "the gold label is 'on', which no row is labelled as"
    assert "gold" not in report.columns.used
    assert data.load(tmp_path / "out" / "data").gold.tolist() == [0, -1, -1, -1, 1, 0, 0, 0, 0]


def test_a_column_named_gold_is_no_feature_if_half_of_its_cells_are_labels(taken):
    gold = ["no", "", "on", *[""] * 7]
    lines = [f"{row},{known}" for row, known in zip(CSV.splitlines(), ["Gold", *gold], strict=True)]
    report = taken("\n".join(lines))
    assert "Gold" not in report.columns.used
    assert [(row.line, row.code) for row in report.refused.rows] == [(4, "bad_gold")]
    assert report.notes == ("1 of 9 rows have a gold label, which is no feature",)


def test_a_gold_label_whose_class_goes_with_another_row_goes_too(taken):
    lines = [*CSV.splitlines(), "70,red,rare", "80,red,no", "90,red,no"]
    gold = ["gold", *["no"] * 10, "slip", "rare", "no"]
    report = taken("\n".join(f"{row},{known}" for row, known in zip(lines, gold, strict=True)), gold="gold")
    assert [(one.line, one.code) for one in report.refused.rows] == [(12, "bad_gold"), (13, "bad_gold")]
    assert report.rows == 11


def test_a_column_of_gold_labels_that_names_no_class_refuses_the_file(taken):
    assert first(taken(CSV.replace("age", "g", 1), gold="g")) == ("bad_column", {"parameter": "gold"})
    assert first(taken(CSV, gold="nowhere"))[0] == "bad_option"
