"""Rows of a file that cannot be used: left out and named, unless there are too many."""

from pathlib import Path

import numpy as np
import pytest

from c2s import data, errors
from c2s.reading import files, json_lines, leftout


def put(path: Path, content: str) -> Path:
    path.write_text(content)
    return path


def kept(path: Path) -> tuple[data.Dataset, list[str]]:
    gone: list[leftout.LeftOut] = []
    return files.read(path, left_out=gone), [str(one) for one in gone]


def test_rows_of_a_csv_that_cannot_be_used_are_left_out_by_their_lines(tmp_path: Path) -> None:
    good = "1,a\n2,b\n" * 10
    path = put(tmp_path / "a.csv", "x,y\n\n" + good + '3\n"two\nlines",a\n4,\n5,6,7\n' + good)
    dataset, gone = kept(path)
    assert len(dataset) == 41
    assert gone == [
        "line 23: the row has 1 columns, the header 2",
        "line 26: the row has no label",
        "line 27: the row has 3 columns, the header 2",
    ]
    with pytest.raises(errors.InvalidDataset, match="line 23 has 1 columns"):
        files.read(path)


def test_json_lines_that_cannot_be_used_are_left_out_by_their_lines(tmp_path: Path) -> None:
    good = '{"x": 1, "y": "a"}\n{"x": 2, "y": "b"}\n' * 5
    bad = '\n{oops\n[1]\n{"x": [1], "y": "a"}\n{"x": 3}\n{"x": 1e999, "y": "a"}\n{"x": 5, "y": "\\ud800"}\n'
    dataset, gone = kept(put(tmp_path / "a.jsonl", good + bad + good * 3))
    assert len(dataset) == 41
    assert gone == [
        "line 12: the line is no JSON from its character 2 on",
        "line 13: the line is no JSON object",
        "line 14: 'x' holds a list or an object: one value a row is needed",
        "line 15: the row has no label",
        "line 17: the line holds half a character (a lone surrogate)",
    ]


def test_rows_of_arrays_that_are_not_finite_are_left_out_by_their_numbers(tmp_path: Path) -> None:
    x = np.arange(40.0).reshape(20, 2)
    x[3, 1], x[7, 0] = np.nan, 1e300
    np.savez(tmp_path / "a.npz", x=x, y=np.arange(20) % 2)
    dataset, gone = kept(tmp_path / "a.npz")
    assert len(dataset) == 18
    assert gone == [f"row {row}: the row holds NaN, an infinity or no float32" for row in (3, 7)]


@pytest.mark.parametrize("rows", ["1,a\n2,b\n3\n", "1,\n2,\n"])
def test_a_file_of_which_too_much_is_left_out_is_refused_with_lines(tmp_path: Path, rows: str) -> None:
    with pytest.raises(errors.InvalidDataset, match=r"rows cannot be used, over 20%: line [24]: the row has"):
        kept(put(tmp_path / "a.csv", "x,y\n" + rows))


def test_a_line_with_a_number_of_thousands_of_digits_is_not_called_nested() -> None:
    assert json_lines.parsed(b'{"x": ' + b"9" * 5000 + b"}") == "the line holds a number that is too long"
    assert json_lines.parsed(b"[" * 100_000) == "the line is nested too deeply"
