"""CSV, JSON lines and Parquet: what can be used is used, and the rest is named by line."""

import json

import numpy as np
import pytest
from small_tables import CSV, ROWS, first, parquet

from app.intake import options
from c2s import data

JSONL = "".join(json.dumps({"age": age, "colour": colour, "y": y}) + "\n" for age, colour, y in ROWS)


def codes(reasons):
    return [reason["code"] for reason in reasons]


# --- what can be used -----------------------------------------------------------------------------------------


def test_the_three_formats_give_the_same_dataset(spawned, taken, tmp_path):
    columns = dict(zip(("age", "colour", "y"), map(list, zip(*ROWS, strict=True)), strict=True))
    contents = {"csv": CSV, "jsonl": JSONL, "parquet": parquet(tmp_path, **columns)}
    found = {}
    for name, content in contents.items():
        report = spawned(content)
        assert (report.format, report.kind, report.rows, report.label) == (name, "tabular", 10, "y")
        found[name] = (report.sha256, data.load(tmp_path / "out" / "data").digest())
    assert len({digest for pair in found.values() for digest in pair}) == 1


def test_the_report_counts_classes_duplicates_conflicts_and_gaps(taken):
    report = taken("age,colour,y\n1,a,0\n1,a,0\n2,a,0\n2,a,1\n,b,1\n4,b,1\n5,a,0\n")
    assert [(one.name, one.rows) for one in report.classes] == [("0", 4), ("1", 3)]
    assert report.imbalance == pytest.approx(4 / 3, abs=1e-3)
    assert (report.duplicates.rows, report.duplicates.groups) == (4, 2)
    assert (report.conflicting.rows, report.conflicting.groups) == (2, 1)
    assert report.missing == {"age": 1}
    assert report.columns.used == ("age", "colour")


def test_labels_that_differ_in_spaces_or_case_alone_are_pointed_out_and_left_apart(taken):
    report = taken("x,y\n" + "1,cat\n2, cat\n3,Cat\n4,dog\n" * 5)
    assert len(report.classes) == 4
    (note,) = report.notes
    assert all(name in note for name in ("'cat'", "' cat'", "'Cat'"))
    assert "dog" not in note
    assert taken("x,y\n" + "1,cat\n4,dog\n" * 5).notes == ()


def test_labels_that_are_one_number_written_differently_are_pointed_out_and_left_apart(taken):
    report = taken("x,y\n" + "1,2\n2,2.0\n3,02\n4,3\n5,ten\n6, 0\n7,0.0\n" * 5)
    assert [one.name for one in report.classes] == [" 0", "0.0", "02", "2", "2.0", "3", "ten"]
    assert report.notes == (
        "the classes ' 0', '0.0' are the same number, written differently",
        "the classes '02', '2', '2.0' are the same number, written differently",
    )
    long = 2**60  # as floats these two are one
    assert taken("x,y\n" + f"1,{long}.0\n2,{long + 1}\n3,1e{long}\n" * 5).notes == ()
    assert "spaces or case alone" in taken("x,y\n" + "1,2\n2, 2\n3,b\n" * 5).notes[0]


def test_one_file_read_twice_has_one_hash(taken, tmp_path):
    first_hash = taken(CSV).sha256
    assert taken(CSV).sha256 == first_hash


def test_the_label_is_found_by_its_usual_names_or_said(taken):
    assert taken("a,Target\n1,0\n2,1\n3,0\n4,1\n").label == "Target"
    reasons = taken("a,b\n1,0\n2,1\n")
    assert first(reasons) == ("no_label_column", {"parameter": "label"})
    assert first(taken(CSV, label="none")) == ("no_label_column", {"parameter": "label"})


def test_a_first_column_may_be_named_in_angle_brackets(taken):
    assert taken("<a>,label\n1,0\n2,1\n3,0\n4,1\n").label == "label"


def test_options_that_the_file_does_not_have_are_named(taken):
    assert first(taken(CSV, drop=("age", "none"))) == ("bad_option", {"parameter": "drop"})
    assert first(taken(CSV, text="none")) == ("bad_option", {"parameter": "text"})
    assert first(taken(CSV, id="none")) == ("bad_option", {"parameter": "id"})
    assert first(taken(CSV, id="colour")) == ("bad_ids", {"parameter": "id"})
    assert first(taken(CSV, kind="image")) == ("bad_option", {"parameter": "kind"})
    assert first(taken(CSV, format="parquet")) == ("unknown_format", {"parameter": "format"})


def test_dropped_columns_are_reported(taken):
    report = taken(CSV, drop=("age",))
    assert report.columns.used == ("colour",)
    assert report.columns.dropped == ("age",)


def test_every_column_that_is_left_out_is_named_with_why_and_how_to_keep_it(taken, tmp_path):
    head = ",key,size,remark,same,none,gone,gold,y\n"
    rows = "".join(f"{n},k{n},{n % 7},it is {n},1,,{n},{'ab'[n % 2]},{'ab'[n % 2]}\n" for n in range(90))
    report = taken(head + rows, id="key", drop=("gone",))
    assert report.columns.used == ("size",)
    why = {name: (one.code, one.keep) for name, one in report.columns.reasons.items()}
    assert why == {
        "": ("nameless", "give it a name"),
        "key": ("id", "leave out id=key"),
        "gone": ("asked", "leave out drop=gone"),
        "gold": ("gold", None),
        "remark": (
            "all_different",
            "text=remark learns from it alone, as text; id=remark names the rows by it",
        ),
        "same": ("constant", None),
        "none": ("empty", None),
    }
    assert report.columns.dropped == tuple(why)
    spoken = taken(head + rows, text="remark", drop=("gone",)).columns
    assert spoken.reasons["size"].code == "not_the_text"
    assert spoken.reasons["size"].keep.startswith("kind=tabular")


def test_what_a_report_says_of_keeping_a_column_keeps_it(taken):
    head, rows = "size,remark,y\n", "".join(f"{n % 7},it is {n},{'ab'[n % 2]}\n" for n in range(90))
    assert taken(head + rows).columns.reasons["remark"].code == "all_different"
    assert taken(head + rows, text="remark").columns.used == ("remark",)
    assert taken(head + rows, text="remark", kind="tabular").columns.used == ("remark",)
    assert taken(head + rows, kind="tabular").columns.used == ("size",)


def test_texts_are_recognised_and_plain_columns_stay_a_table(taken, tmp_path):
    rows = "".join(
        f"the {word} runs home,{n % 2}\n" for n, word in enumerate(["cat", "dog", "fox", "owl", "hen", "cow"])
    )
    assert taken("body,y\n" + rows).kind == "text"
    assert taken("body,n,y\n" + rows.replace("home", "home,1"), kind="text").kind == "text"
    assert (
        taken("body,n,y\n" + rows.replace("home", "home,1"), kind="text", drop=("body",))[0]["code"]
        == "bad_option"
    )


def test_a_table_of_numbers_can_be_taken_as_vectors(taken):
    report = taken(
        "a,b,y\n" + "".join(f"{n},{n * 2},{n % 2}\n" for n in range(19)) + ",1,0\n", kind="vectors"
    )
    assert report.kind == "vectors"
    assert [(row.line, row.code) for row in report.refused.rows] == [(21, "not_finite")]


def test_formulas_are_plain_names(taken, tmp_path):
    report = taken("a,y\n" + "=cmd|' /C calc'!A0,no\n@SUM(1),yes\n" * 5)
    assert report.rows == 10
    assert data.load(tmp_path / "out" / "data").encoding["columns"][0]["kind"] == "category"


def test_nan_and_infinities_are_missing_values_in_a_table(taken, tmp_path):
    content = "a,y\n1,no\ninf,yes\n-inf,no\nnan,yes\n1e300,no\n3,yes\n"
    assert taken(content).missing == {"a": 4}
    values = [1.0, np.inf, None, np.nan, 2.0, 3.0]
    assert taken(parquet(tmp_path, a=values, y=[0, 1, 0, 1, 0, 1])).missing == {"a": 3}


# --- rows that are refused singly -----------------------------------------------------------------------------


def test_rows_of_the_wrong_width_and_without_label_are_refused_by_line(taken):
    good = "1,a\n2,b\n" * 10
    report = taken("x,y\n\n" + good + '3\n"two\nlines",a\n4,\n5,6,7\n' + good)
    found = [(row.line, row.code) for row in report.refused.rows]
    assert found == [(23, "wrong_width"), (26, "missing_label"), (27, "wrong_width")]
    assert report.refused.count == 3
    assert report.rows == 41


def test_bad_json_lines_are_refused_by_line(taken):
    report = taken(JSONL + "\n{oops\n[1]\n" + JSONL + '{"age": 1, "colour": "red"}\n')
    found = [(row.line, row.code) for row in report.refused.rows]
    assert found == [(12, "bad_json"), (13, "bad_json"), (24, "missing_label")]
    assert report.rows == 20


def test_json_columns_of_mixed_types_become_names(taken):
    lines = [{"a": 1 if n % 2 else "one", "b": float("nan"), "c": n, "y": n % 2} for n in range(6)]
    report = taken("".join(json.dumps(line) + "\n" for line in lines))
    assert report.columns.used == ("a", "c")


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_a_stray_word_among_numbers_is_missing_and_told(taken, tmp_path, form):
    rows = [*[(n % 50 + 0.5, n % 7, "ab"[n % 2]) for n in range(300)], ("unknown", 0.5, "a")]
    if form == "csv":
        body = "a,b,y\n" + "".join(f"{a},{b},{y}\n" for a, b, y in rows)
    else:
        body = "".join(json.dumps({"a": a, "b": b, "y": y}) + "\n" for a, b, y in rows)
    report = taken(body)
    assert report.columns.kinds == {"a": "number", "b": "number"}
    assert report.missing == {"a": 1}
    said = "column 'a' is read as numbers: cells that hold none count as missing (1, such as 'unknown')"
    assert report.notes == (said,)
    found = data.load(tmp_path / "out" / "data")
    assert found.x[:, 1].tolist() == [0] * 300 + [1]  # which are missing


def test_too_many_refused_rows_refuse_the_file_with_examples(taken):
    reasons = taken("x,y\n" + "1,a\n2,b\n3\n" * 10)
    assert codes(reasons[:2]) == ["too_many_refused", "wrong_width"]
    assert reasons[1]["line"] == 4


def test_rows_beyond_the_first_thousand_are_counted_only(taken):
    report = taken("x,y\n" + "1,a\n2,b\n3,a\n4,b\n5,a\n6,b\n7,\n" * 1100)
    assert (report.refused.count, report.rows) == (1100, 6600)
    assert [row.line for row in report.refused.rows] == list(range(8, 7008, 7))


def test_the_list_of_refused_rows_is_cut_at_a_thousand(taken):
    report = taken("x,y\n" + "1,a\n2,b\n3,a\n4,b\n5,a\n6,b\n7\n" * 1100)
    assert report.refused.count == 1100
    assert len(report.refused.rows) == 1000


# --- files that are refused -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "code", "place"),
    [
        (b"", "empty", {}),
        (b"\xef\xbb\xbf \n", "empty", {}),
        (b"a,y\n", "empty", {}),
        (b"a,y\n1,no\n2,caf\xe9\n", "bad_encoding", {"line": 3}),
        ("a,y\n1,no\n2,yes\n".encode("utf-16"), "bad_encoding", {"line": 1}),
        ("a,y\n1,no\n2,yes\n".encode("utf-16-le"), "bad_encoding", {"line": 1}),
        (b"a,y\n1,no\n2\0,yes\n", "bad_encoding", {"line": 3}),
        (b'{"a": 1, "y": 0}\n{"a": "\xe9"}\n', "bad_encoding", {"line": 2}),
        (b"a,a,y\n1,2,no\n3,4,yes\n", "bad_header", {}),
        (",".join(map(str, range(10_000))).encode() + b",y\n", "too_many_columns", {}),
        (b"a,y\n" + b"1,no\n2,no\n" * 5, "too_few_classes", {"parameter": "label"}),
        (b"a,y\n1,a\n2,b\n3,c\n4,d\n", "too_many_classes", {"parameter": "label"}),
        (
            b"a,y\n" + b"".join(b"%d,c%d\n" % (n, n % 10_000) for n in range(30_000)),
            "too_many_classes",
            {"parameter": "label"},
        ),
        (b"a,y\n1,no\n2,yes\n3,no\n", "too_few_rows", {}),
        (b"a,y\n" + b"1,no\n1,yes\n" * 5, "nothing_to_learn", {}),
        (b"a,y\n" + b"1,no\n2,yes\n" * 5 + b"3," + b"x" * 300 + b"\n", "bad_column", {"parameter": "label"}),
        (b'{"a": [1], "y": 0}\n{"a": [2], "y": 1}\n', "nested", {"pointer": "/a"}),
        (b'{"a": {"b": 1}, "y": 0}\n{"a": 2, "y": 1}\n', "nested", {"pointer": "/a"}),
        (b"{" * 20_000 + b"\n", "too_many_refused", {}),
        (b'[{"a": 1}]', "unknown_format", {}),
        (b"<!doctype html><html></html>", "unknown_format", {}),
        (b"<rows>\n<row a='1,2'/></rows>", "unknown_format", {}),
        (b"<svg width='1', height='2'>\n</svg>", "unknown_format", {}),
        (b"<html>\n\t<head></head></html>", "unknown_format", {}),
        (b"\x80\x04\x95\x0b\x00.", "unknown_format", {}),
        (b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.", "unknown_format", {}),
        (b"\x89HDF\r\n\x1a\n" + bytes(100), "unknown_format", {}),
        (b"\x08\x07\x12\x07pytorch", "unknown_format", {}),
        (b"\x93NUMPY\x01\x00", "unknown_format", {}),
        (b"hello world\n", "unknown_format", {"line": 1}),
        (b"PAR1 and no more", "unreadable", {}),
        (b"PAR1" + bytes(50) + b"PAR1", "unreadable", {}),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_with_code_and_place(taken, content, code, place):
    assert first(taken(content)) == (code, place)


def test_nested_and_binary_columns_of_parquet_are_refused_unless_dropped(taken, tmp_path):
    rest = {"a": list(range(6)), "y": [0, 1] * 3}
    assert first(taken(parquet(tmp_path, n=[[1]] * 6, **rest))) == ("nested", {"pointer": "/n"})
    assert first(taken(parquet(tmp_path, n=[{"b": 1}] * 6, **rest))) == ("nested", {"pointer": "/n"})
    assert first(taken(parquet(tmp_path, n=[b"\xff"] * 6, **rest))) == ("bad_column", {"pointer": "/n"})
    report = taken(parquet(tmp_path, n=[[1]] * 6, **rest), drop=("n",))
    assert report.columns.dropped == ("n",)


def test_more_rows_or_columns_than_allowed_are_refused(taken, tmp_path):
    few = options.Limits(rows=5, columns=3)
    assert first(taken(CSV, few))[0] == "too_many_rows"
    assert first(taken(JSONL, few))[0] == "too_many_rows"
    assert first(taken(parquet(tmp_path, a=list(range(9)), y=[0] * 9), few))[0] == "too_many_rows"
    wide = {f"c{n}": [1, 2] for n in range(5)}
    assert first(taken(parquet(tmp_path, y=[0, 1], **wide), few))[0] == "too_many_columns"
    assert first(taken(json.dumps(dict.fromkeys(wide, 1)) + "\n", few))[0] in (
        "too_many_columns",
        "no_label_column",
    )


def test_a_line_with_a_nested_value_is_refused_alone(taken):
    lines = [f'{{"size": {i}, "y": {i % 2}}}' for i in range(30)]
    lines[6] = '{"size": {"cm": 3}, "y": 0}'
    report = taken("\n".join(lines))
    assert [(row.line, row.code) for row in report.refused.rows] == [(7, "nested")]
    assert report.rows == 29


# --- the first rows -------------------------------------------------------------------------------------------


def test_the_report_shows_the_first_rows_as_the_file_has_them(taken):
    found = taken("age,colour,who,y\n20,red,n1,no\n" + ",blue,n2,yes\n" * 20, id=None).sample
    assert found.columns == ("age", "colour", "who")
    assert len(found.rows) == 12
    assert (found.rows[0].id, found.rows[0].label, found.rows[0].values) == ("0", "no", ("20", "red", "n1"))
    assert found.rows[1].values == (None, "blue", "n2")


def test_rows_are_shown_by_their_own_ids_and_refused_ones_not_at_all(taken):
    found = taken("k,age,y\na,1,no\nb,2\nc,3,yes\nd,4,no\ne,5,yes\nf,6,no\ng,7,no\n", id="k").sample
    assert [row.id for row in found.rows] == ["a", "c", "d", "e", "f", "g"]
    assert found.columns == ("age",)


def test_long_texts_and_wide_tables_are_cut_in_the_sample(taken, tmp_path):
    long = json.dumps("word " * 200)
    lines = "".join(f'{{"text": {long}, "y": {i % 2}}}\n' for i in range(8))
    (text,) = taken(lines, text="text").sample.rows[0].values
    assert len(text) == 280
    assert text.endswith("…")
    wide = {f"c{i}": list(range(i, i + 6)) for i in range(30)} | {"y": [0, 1] * 3}
    sample = taken(parquet(tmp_path, **wide)).sample
    assert (len(sample.columns), sample.left_out) == (24, 6)


def test_what_no_database_takes_is_replaced_in_the_sample(taken):
    lines = "".join(json.dumps({"text": f"zero \0 here {i}", "y": i % 2}) + "\n" for i in range(8))
    assert taken(lines, text="text").sample.rows[0].values == ("zero \N{REPLACEMENT CHARACTER} here 0",)


def test_arrays_of_texts_have_a_sample_and_those_of_numbers_none(taken, tmp_path):
    def npz(x):
        np.savez(tmp_path / "some.npz", x=x, y=np.arange(len(x)) % 2)
        return (tmp_path / "some.npz").read_bytes()

    said = np.array([f"some words number {i}" for i in range(8)])
    assert taken(npz(said)).sample.rows[3].values == ("some words number 3",)
    assert taken(npz(np.arange(16.0).reshape(8, 2))).sample is None


@pytest.mark.parametrize(
    ("content", "code", "said"),
    [
        (b"PAR1" + b"x" * 100 + b"PAR1", "unreadable", "it is no Parquet file, or a damaged one"),
        (
            b"PAR1" + b"\x15\x04" * 50 + b"\x64\0\0\0PAR1",
            "unreadable",
            "it is no Parquet file, or a damaged one",
        ),
        (
            '{"a": [1], "y": 0}\n{"a": [2], "y": 1}\n',
            "nested",
            "column 'a' holds lists or objects: one value a row",
        ),
        ("a,y", "empty", "the file has no rows"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_in_our_words(taken, content, code, said):
    (reason,) = taken(content)
    assert reason["code"] == code
    assert reason["detail"].startswith(said)
