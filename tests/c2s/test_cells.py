"""Cells that a spreadsheet would compute: everywhere where a CSV is written."""

import csv
import io

import pytest

from c2s import cells
from c2s.client.frames import Rows
from c2s.commands import issues, transition

NAMES = ("=1+1", "-2", "plain")


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ("=cmd()", "'=cmd()"), ("+x", "'+x"), ("-x", "'-x"), ("@x", "'@x"), ("\ty", "'\ty"), ("\ry", "'\ry"),
        ("-2.5", "-2.5"), ("+1e-3", "+1e-3"), (".5", ".5"), ("-1\n", "'-1\n"),
        ("a=b", "a=b"), ("", ""), (-1.5, -1.5), (None, None),
    ],
)  # fmt: skip
def test_only_text_that_would_be_computed_gets_an_apostrophe(given, written):
    assert cells.harmless(given) == written


def test_class_names_in_the_csv_of_a_matrix_are_not_computed():
    file = io.StringIO()
    transition.write_csv(transition.Found(list(NAMES), {"matrix": [[1, 0, 0]] * 3}, []), file)
    rows = list(csv.reader(io.StringIO(file.getvalue())))
    assert rows[0][1:] == [row[0] for row in rows[1:]] == ["'=1+1", "-2", "plain"]


def test_exported_issues_keep_numbers_and_disarm_formulas(tmp_path):
    found = Rows([{"id": "-7", "given": "=1+1", "suggested": "plain"}])
    issues.write(found, tmp_path / "issues.csv", "csv")
    with (tmp_path / "issues.csv").open(newline="") as file:
        assert list(csv.DictReader(file)) == [{"id": "-7", "given": "'=1+1", "suggested": "plain"}]


@pytest.mark.parametrize("text", ["=cmd()", "-2", "plain", "'", "'plain", "''=x", "", "@x"])
def test_a_cell_made_harmless_is_read_as_it_was(text):
    assert cells.plain(cells.harmless(text)) == text
