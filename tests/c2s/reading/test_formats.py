"""Files by their format, and what is none."""

from pathlib import Path

import pytest

from c2s import errors
from c2s.reading import files, formats


def test_a_folder_in_the_place_of_a_file_is_said_to_be_one(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").mkdir()
    encoding = {"kind": "vectors", "width": 3}
    for read in (formats.suffix, files.read, lambda path: files.read_inputs(path, encoding)):
        with pytest.raises(errors.InvalidDataset, match=r"rows\.csv: this is a folder"):
            read(tmp_path / "rows.csv")
