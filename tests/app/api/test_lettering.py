"""Letters of pictures: a font that has them, or something readable in their place; never boxes."""

import numpy as np
import pytest

from app.api import lettering, painting
from c2s.drawing import charts, drawings


@pytest.fixture
def bare(monkeypatch):
    """A machine without fonts."""
    monkeypatch.setattr(lettering, "_candidates", lambda: (None,))


def painted(text, instead=None, *, turned=False):
    shape = drawings.Text(60, 40, text, 12, instead=instead, turned=turned)
    return painting.png(drawings.Drawing(120, 80, "", (shape,)))


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("name", ["猫", "قطة", "кот", "貓 and dog"])
def test_a_name_whose_letters_no_font_has_is_shown_by_its_number(bare, name, turned):
    assert painted(name, "#3", turned=turned) == painted("#3", turned=turned)


def test_letters_without_their_accents_are_better_than_a_number(bare):
    assert painted("café", "#3") == painted("cafe")


def test_a_font_of_the_machine_that_has_the_letters_is_used(monkeypatch):
    asked = []
    monkeypatch.setattr(lettering, "_candidates", lambda: (None, "without", "with"))
    monkeypatch.setattr(lettering, "_has_sign", lambda path, sign: path == "with")
    monkeypatch.setattr(lettering, "_font", lambda path, size: asked.append(path) or path)
    assert lettering.lettered("猫 犬", "#1", 12) == ("猫 犬", "with")
    assert asked == ["with"]


def test_scripts_that_must_be_shaped_are_numbers_where_nothing_shapes_them(monkeypatch):
    monkeypatch.setattr(lettering, "_has_sign", lambda path, sign: True)
    monkeypatch.setattr("PIL.features.check", lambda part: False)
    assert lettering.lettered("قطة", "#2", 12)[0] == "#2"
    assert lettering.lettered("кот", "#2", 12)[0] == "кот"


def test_files_that_are_no_fonts_have_no_letters_and_only_some_are_looked_at(monkeypatch, tmp_path):
    for name in ("Sans.ttf", "Sans-Bold.ttf", "Serif.otf", "notes.txt"):
        (tmp_path / name).write_bytes(b"no font")
    monkeypatch.setattr(lettering, "FOLDERS", (str(tmp_path),))
    found = lettering._candidates.__wrapped__()
    assert found == (None, str(tmp_path / "Sans.ttf"), str(tmp_path / "Serif.otf"))
    assert not lettering._has_sign(found[1], "a")
    monkeypatch.setattr(lettering, "LOOKED_AT", 0)
    assert lettering._candidates.__wrapped__() == (None,)


@pytest.mark.parametrize("draw", ["heat", "pairs"])
def test_charts_number_their_classes_from_one_for_a_painter_without_letters(bare, draw):
    T = np.full((3, 3), 0.1) + 0.7 * np.eye(3)
    names = ("猫", "dog", "鳥")
    if draw == "heat":
        drawing = charts.heat_map(T, names, names, sides=("true", "given"), title="T")
    else:
        drawing = charts.pair_graph(T, names, title="T")
    found = {shape.text: shape.instead for shape in drawing.shapes if getattr(shape, "instead", None)}
    assert found == {"猫": "#1", "dog": "#2", "鳥": "#3"}
    assert "猫".encode() in drawings.svg(drawing)
    painting.png(drawing)
