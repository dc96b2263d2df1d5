"""What a user has at hand, as a body: what cannot be sent is refused before anything is."""

import os

import pytest

from c2s.client import problems, sources


def test_a_path_that_is_no_file_is_told_for_what_it_is(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "pictures").mkdir()
    for name, said in (
        ("pictures", "this is a folder; .* pack pictures into a zip"),
        ("pipe", "a pipe cannot be sent"),
        ("none.csv", "there is no such file"),
    ):
        with pytest.raises(problems.Unusable, match=f"{name}: {said}"):
            sources.read(tmp_path / name)
