"""What a person is told to do about a mistake: it fits the mistake."""

import pytest

from app.api import codes
from app.core import jobs
from app.intake import refusal
from c2s.commands import failures


@pytest.mark.parametrize(
    ("content", "said", "hint"),
    [
        ("a,y\n1,caf\xe9\n".encode("latin-1"), "line 2 is not UTF-8", "save the file as UTF-8"),
        (b"a,a,y\n1,2,3\n", "two columns are named 'a'", "the first line must name every column"),
        (b"a,y\n", "the file has no rows", "the file needs rows"),
        (b"a,y\n1,2,3\n2,b\n", "1 of 2 rows cannot be used", "mend the rows above"),
    ],
)
def test_advice_on_a_file_fits_what_is_wrong_with_it_and_nothing_is_said_twice(
    c2s, tmp_path, content, said, hint
):
    (tmp_path / "rows.csv").write_bytes(content)
    code, _, told = c2s("dataset", "add", tmp_path / "rows.csv", "--label", "y")
    assert (code, told.count(said)) == (2, 1)
    assert f"-> {hint}" in told


@pytest.mark.parametrize(
    ("arguments", "said", "hint"),
    [
        (["--dataset", "nope"], "is no such id: they begin with ds_", "c2s dataset ls shows what there is"),
        (
            ["--dataset", "ds_" + "0" * 26, "--method", "magic"],
            "must be one of",
            "c2s train --help names the methods",
        ),
    ],
)
def test_advice_on_a_job_fits_the_field_that_is_wrong(c2s, arguments, said, hint):
    code, _, told = c2s("job", "run", *arguments)
    assert code == 2
    assert said in told
    assert f"-> {hint}" in told


def test_advice_is_about_codes_that_exist():
    assert set(failures.ADVICE) <= codes.CODES | set(jobs.Code.__args__)
    assert set(failures.FAULTS) <= refusal.CODES
