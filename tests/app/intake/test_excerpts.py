"""Every row of a table or of texts stays readable, long cells cut; numbers and pictures need no excerpt."""

import datetime

import numpy as np
import pyarrow as pa

from app.intake import excerpts


def test_rows_are_read_back_by_their_numbers_as_text(tmp_path, monkeypatch):
    monkeypatch.setattr(excerpts, "GROUP", 7)
    day = datetime.date(2026, 1, 31)
    table = pa.table(
        {
            "number": [float(i) if i % 2 else None for i in range(20)],
            "flag": [i % 3 == 0 for i in range(20)],
            "day": [day] * 20,
            "text": [f"row {i} <b>" + "é" * 1000 for i in range(20)],
            "list": [[i, i] for i in range(20)],
        }
    )
    excerpts.write(tmp_path / "file", table)
    found = excerpts.read(tmp_path / "file", [19, 0, 8])
    assert set(found) == {0, 8, 19}
    assert (found[0]["number"], found[19]["number"]) == (None, "19.0" if "." in found[19]["number"] else "19")
    assert (found[0]["flag"], found[0]["day"], found[8]["list"]) == ("true", "2026-01-31", "[8, 8]")
    assert found[8]["text"].startswith("row 8 <b>é")
    assert len(found[8]["text"]) == excerpts.LONGEST


def test_only_the_first_columns_are_kept_and_texts_without_a_table_have_one(tmp_path):
    wide = pa.table({f"c{i}": [1, 2] for i in range(50)})
    excerpts.write(tmp_path / "wide", wide)
    assert list(excerpts.read(tmp_path / "wide", [1])[1]) == [f"c{i}" for i in range(excerpts.COLUMNS)]
    excerpts.write(tmp_path / "texts", np.array(["one", "half \ud800 of a character"]))
    assert excerpts.read(tmp_path / "texts", [0, 1]) == {
        0: {"text": "one"},
        1: {"text": "half ? of a character"},
    }


def test_numbers_and_pictures_leave_no_file_and_reading_none_is_empty(tmp_path):
    for rows in (np.zeros((3, 4), np.float32), np.zeros((3, 8, 8), np.uint8)):
        excerpts.write(tmp_path / "file", rows)
    assert excerpts.read(tmp_path / "file", [0]) == {}
    assert not (tmp_path / "file").exists()
