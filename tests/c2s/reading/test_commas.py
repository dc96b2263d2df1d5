"""Quotes in CSV files: one that would swallow rows is refused, the others stay what they are."""

import pytest

from c2s import errors
from c2s.reading import formats


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        (['1,"open,a', "2,b,b", "3,c,a"], 2),  # never closed
        (["1,a,a", '2,"open,b', '3,"closed",a', "4,d,b"], 3),  # closed by the next row's quote
        (["1,a,a", '2,"two\nlines",b', '3,"open,a'], 5),  # the last row
    ],
)
def test_a_quote_that_would_swallow_rows_is_refused_by_its_line(tmp_path, rows, line):
    file = tmp_path / "t.csv"
    file.write_text("\n".join(["x,t,y", *rows]) + "\n")
    with pytest.raises(errors.InvalidDataset, match=f"line {line} opens a quote"):
        formats.comma_separated(file)


def test_quotes_that_hide_no_row_stay_what_they_are(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text('x,t,y\n1,5" pipe,a\n2,"two\nlines, ""quoted""",b\n3,"sloppy" end,a\n')
    assert formats.comma_separated(file)["t"].to_pylist() == [
        '5" pipe',
        'two\nlines, "quoted"',
        "sloppy end",
    ]
