import pytest

from c2s import folders


def test_a_folder_appears_only_when_it_is_complete(tmp_path):
    with folders.whole(tmp_path / "f") as part:
        (part / "a").write_text("x")
        assert not (tmp_path / "f").exists()
    assert (tmp_path / "f" / "a").read_text() == "x"


def test_an_error_leaves_nothing(tmp_path):
    def write_half() -> None:
        with folders.whole(tmp_path / "f") as part:
            (part / "a").write_text("x")
            raise RuntimeError("half way")

    with pytest.raises(RuntimeError, match="half way"):
        write_half()
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_writer_left_is_swept(tmp_path):
    (tmp_path / "f.part").mkdir()
    (tmp_path / "f.part" / "stale").write_text("x")
    with folders.whole(tmp_path / "f") as part:
        (part / "a").write_text("y")
    assert [path.name for path in (tmp_path / "f").iterdir()] == ["a"]


def test_numbers_json_does_not_know_are_refused(tmp_path):
    with pytest.raises(ValueError, match="JSON"):
        folders.write_json(tmp_path / "x.json", {"loss": float("nan")})
