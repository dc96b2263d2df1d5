"""Rows to predict: read by the model's own encoding, in bounded memory; a bad row is noted and harms no other."""

import io
import json
import zipfile

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from app.intake import cells, lots, reading, refusal
from app.intake.options import Limits, Options
from c2s import data, slices
from c2s.interface import Interface
from c2s.reading import encoding


@pytest.fixture
def encode(tmp_path, trained):
    """The inputs and the notes of a file, as the model of a kind reads it."""

    def read(kind, body, **limits):
        folder, card = trained(kind)
        source, target = tmp_path / "source", tmp_path / "rows"
        source.write_bytes(body if isinstance(body, bytes) else body.encode())
        found = reading.encode(source, target, folder / "card.json", Options(), Limits(**limits))
        rows = slices.Reader(target)
        notes = [json.loads(line) for line in (target / "rows.jsonl").read_text().splitlines()]
        assert (len(rows), len(notes)) == (found.rows, found.rows)
        assert sum(why is not None for _, why in notes) == found.faults
        return rows.read(0, len(rows)), notes, Interface(card)

    return read


def refused(encode, kind, body, **limits):
    with pytest.raises(refusal.Refused) as caught:
        encode(kind, body, **limits)
    return caught.value.reasons[0]


TABLE = "a,b,c\n1,2,x\n\n3,4,y\n1,2\nsix,1,x\n,NA,new\ninf,1,x\n"


def test_rows_of_a_table_are_read_as_predict_reads_them(encode):
    x, notes, model = encode("tabular", TABLE)
    raw = [{"a": 1, "b": 2, "c": "x"}, {"a": 3, "b": 4, "c": "y"}, {"a": None, "b": None, "c": "new"}]
    np.testing.assert_array_equal(x[[0, 1, 4]], model.raw(raw))
    np.testing.assert_array_equal(
        x[[5]], model.raw([{"a": None, "b": 1, "c": "x"}])
    )  # an infinity is missing
    assert [line for line, _ in notes] == [2, 4, 5, 6, 7, 8]
    said = [why for _, why in notes]
    assert [why is None for why in said] == [True, True, False, False, True, True]
    assert "2 columns" in said[2]
    assert "'six'" in said[3]


def test_a_word_is_missing_where_words_had_strayed_among_the_numbers_of_training():
    spec = encoding.learn({"a": ["1.5", "2"] * 20 + ["unknown"]}, loose={"a"})
    lot = lots.Lot({"a": ["1,5", "never", "NA", None, 2, "true"]}, places=[2, 3, 4, 5, 6, 7])
    assert cells.typed(spec, lot, point=",")["a"].to_pylist() == [1.5, None, None, None, 2.0, None]
    assert not lot.faults


def test_a_csv_of_one_column_is_read_as_well(encode):
    x, notes, model = encode("text", 'text\ngood fine thing\n"poor, bad"\n')
    expected = model.raw(["good fine thing", "poor, bad"])
    np.testing.assert_array_equal(x.indices, expected.indices)
    np.testing.assert_array_equal(x.weights, expected.weights)
    assert notes == [[2, None], [3, None]]


def test_json_lines_and_parquet_say_the_same_as_csv(encode, tmp_path):
    lines = '{"a": 1, "b": 2, "c": "x"}\nnonsense\n{"a": "3", "b": 4, "c": "y", "more": 1}\n'
    lines += '{"a": [1], "b": 1}\n{"b": 1}\n'
    x, notes, model = encode("tabular", lines)
    np.testing.assert_array_equal(x[[0, 2]], encode_again(model, [(1, 2, "x"), (3, 4, "y")]))
    assert [line for line, why in notes if why] == [2, 4]
    blob = io.BytesIO()
    parquet.write_table(pa.table({"c": ["x", "y"], "a": [1, 3], "b": [2.0, 4.0]}), blob)
    (tmp_path / "rows").rename(tmp_path / "before")
    y, notes, _ = encode("tabular", blob.getvalue())
    np.testing.assert_array_equal(y, x[[0, 2]])
    assert notes == [[None, None], [None, None]]


def encode_again(model, rows):
    return model.raw([dict(zip("abc", row, strict=True)) for row in rows])


def test_texts_arrays_and_pictures_are_read_too(encode, pictures, tmp_path):
    bags, _, model = encode("text", '{"text": "good thing"}\n{"text": 5}\n')
    assert isinstance(bags, data.Bags)
    np.testing.assert_array_equal(bags.indices, model.raw(["good thing", "5"]).indices)
    (tmp_path / "rows").rename(tmp_path / "texts")
    blob = io.BytesIO()
    array = np.arange(12, dtype=np.float64).reshape(3, 4)
    array[1, 2] = np.nan
    np.savez(blob, x=array)
    x, notes, _ = encode("vectors", blob.getvalue())
    np.testing.assert_array_equal(x[[0, 2]], array[[0, 2]])
    assert [why is None for _, why in notes] == [True, False, True]
    (tmp_path / "rows").rename(tmp_path / "arrays")
    blob = io.BytesIO()
    with zipfile.ZipFile(blob, "w") as archive:
        archive.writestr("one.png", pictures(1))
        archive.writestr("in/two.png", pictures(0, size=16))
        archive.writestr("bad.png", b"nothing")
    x, notes, _ = encode("image", blob.getvalue())
    assert (x.shape, x.dtype) == ((3, 8, 8, 1), np.uint8)
    assert [(name, why is None) for name, why in notes] == [
        ("one.png", True),
        ("in/two.png", True),
        ("bad.png", False),
    ]


def test_more_lots_than_one_are_read_in_order(encode):
    body = "a,b,c\n" + "".join(f"{i},{i % 5},x\n" for i in range(5000))
    x, notes, model = encode("tabular", body)
    np.testing.assert_array_equal(x, encode_again(model, [(i, i % 5, "x") for i in range(5000)]))
    assert [line for line, _ in notes] == list(range(2, 5002))


@pytest.mark.parametrize(
    ("kind", "body", "code"),
    [
        ("tabular", "a,c\n1,x\n", "bad_header"),
        ("tabular", '{"a": 1, "c": "x"}\n', "bad_header"),
        ("tabular", "a,b,c\n", "empty"),
        ("tabular", "", "empty"),
        ("tabular", "a,b,c\n1,2,\xff\n".encode("latin-1"), "bad_encoding"),
        ("tabular", b"\x80\x04pickle", "unknown_format"),
        ("text", "<html>\n\t<head></head></html>\n", "unknown_format"),
        ("image", "a,b\n1,2\n", "unknown_format"),
        ("vectors", "a,b\n1,2\n", "unknown_format"),
    ],
)
def test_a_file_that_the_model_cannot_read_is_refused_whole(encode, kind, body, code):
    assert refused(encode, kind, body)["code"] == code


def test_a_file_of_more_rows_than_allowed_is_refused(encode):
    assert refused(encode, "tabular", TABLE, rows=5)["code"] == "too_many_rows"


def test_an_array_of_another_shape_is_the_files_fault(encode):
    blob = io.BytesIO()
    np.savez(blob, x=np.zeros((3, 5)))
    assert refused(encode, "vectors", blob.getvalue())["code"] == "unreadable"
