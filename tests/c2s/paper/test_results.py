import json
import math
from pathlib import Path

import pytest

from c2s.paper import results


def test_rows_come_back_in_the_order_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "results.jsonl"
    for key in ("a", "b"):
        results.append(path, {"key": key, "accuracy": 0.5})
    assert results.read(path) == [{"key": "a", "accuracy": 0.5}, {"key": "b", "accuracy": 0.5}]


def test_a_file_that_is_not_there_has_no_rows(tmp_path: Path) -> None:
    assert results.read(tmp_path / "results.jsonl") == []


def test_a_half_written_last_line_does_not_count(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    results.append(path, {"key": "a"})
    with path.open("ab") as file:
        file.write(b'{"key": "b", "accu')
    assert [row["key"] for row in results.read(path)] == ["a"]


def test_the_line_after_a_half_written_one_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_bytes(b'{"key": "a"}\n{"key": "b", "accu\xff')
    results.append(path, {"key": "c"})
    assert [row["key"] for row in results.read(path)] == ["a", "c"]
    assert json.loads(path.read_bytes().splitlines()[-1]) == {"key": "c"}


def test_a_line_that_is_json_but_no_row_does_not_count(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text('7\n{"other": 1}\n')
    assert results.read(path) == []


def test_a_number_that_json_does_not_know_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    with pytest.raises(ValueError, match="JSON compliant"):
        results.append(path, {"key": "a", "accuracy": math.nan})
    assert results.read(path) == []
