"""True labels in a file are kept apart from what is learnt from."""

from pathlib import Path

import numpy as np
import pytest

from c2s import errors
from c2s.reading import files, leftout, unused

TRUE = "a,Gold,y\n1,no,no\n2,,yes\n3,yes,no\n4,-1,yes\n5,,no\n6,,yes\n"


def put(folder: Path, content: str) -> Path:
    path = folder / "a.csv"
    path.write_text(content)
    return path


def test_a_column_named_gold_that_holds_labels_is_no_feature(tmp_path: Path) -> None:
    notes: list[str] = []
    left: list[unused.Unused] = []
    dataset = files.read(put(tmp_path, TRUE), notes=notes, left_columns=left)
    assert [column["name"] for column in dataset.encoding["columns"]] == ["a"]
    assert dataset.gold is not None
    assert dataset.gold.tolist() == [0, -1, 1, -1, -1, -1]
    assert notes == ["2 of 6 rows have a gold label, which is no feature"]
    assert left == [unused.Unused("Gold", "gold")]


def test_gold_can_be_another_column_or_array_but_not_the_labels(tmp_path: Path) -> None:
    dataset = files.read(put(tmp_path, TRUE.replace("Gold", "seen")), gold="seen")
    assert [column["name"] for column in dataset.encoding["columns"]] == ["a"]
    assert dataset.gold is not None
    assert dataset.gold.tolist() == [0, -1, 1, -1, -1, -1]
    arrays = tmp_path / "a.npz"
    np.savez(arrays, x=np.eye(4), y=np.array([0, 1, 0, 1]), seen=np.array([1, -1, np.nan, 0]))
    found = files.read(arrays, gold="seen", left_out=[])
    assert found.gold is not None
    assert found.gold.tolist() == [1, -1, -1, 0]
    with pytest.raises(errors.InvalidDataset, match="gold and label are the same column, 'y'"):
        files.read(tmp_path / "a.csv", gold="y")


def test_a_column_of_other_things_that_is_named_gold_is_a_feature_and_told(tmp_path: Path) -> None:
    notes: list[str] = []
    dataset = files.read(put(tmp_path, "gold,y\n20,no\n30,yes\n,no\n40,yes\n"), notes=notes)
    assert dataset.gold is None
    (note,) = notes
    assert note.startswith("column 'gold' is a feature, as few of its cells are labels")
    assert note.endswith("(--gold gold) or leave it out (--drop gold)")


def test_rows_whose_gold_label_is_no_class_are_left_out_or_refuse_the_file(tmp_path: Path) -> None:
    path = put(tmp_path, TRUE.replace("2,,yes", "2,on,yes"))
    gone: list[leftout.LeftOut] = []
    dataset = files.read(path, left_out=gone)
    assert [str(one) for one in gone] == ["line 3: the gold label is 'on', which no row is labelled as"]
    assert dataset.gold is not None
    assert dataset.gold.tolist() == [0, 1, -1, -1, -1]
    with pytest.raises(errors.InvalidDataset, match="1 of 6 rows cannot be used: row 1: the gold label is"):
        files.read(path)
    with pytest.raises(errors.InvalidDataset, match="names no class"):
        files.read(path, gold="a", left_out=[])


def test_a_class_that_goes_with_a_gold_label_takes_the_labels_that_name_it(tmp_path: Path) -> None:
    rows = [f"{i},no,{'no' if i % 2 else 'yes'}" for i in range(10)]
    path = put(tmp_path, "\n".join(["a,gold,y", *rows, "10,slip,rare", "11,rare,no"]))
    gone: list[leftout.LeftOut] = []
    assert files.read(path, left_out=gone).labels == ("no", "yes")
    assert [(one.line, one.code) for one in gone] == [(12, "bad_gold"), (13, "bad_gold")]
