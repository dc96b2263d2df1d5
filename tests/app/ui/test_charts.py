"""Charts on pages: the library's drawings by classes, escaped, small where there are many classes."""

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from app.ui import charts
from c2s import members
from c2s.drawing import charts as definitions
from c2s.drawing import curves
from c2s.drawing.drawings import Text
from c2s.matrix import noise

SIDES = ("true", "given")


def parsed(markup):
    return ET.fromstring(str(markup))  # noqa: S314 - our own text


@pytest.mark.parametrize("classes", [2, 12, 100])
def test_a_heat_map_is_the_library_s_without_colours_of_its_own(classes):
    T, names = noise.symmetric(classes, 0.3), [f"class {k}" for k in range(classes)]
    tree = parsed(charts.heat_map(T.tolist(), names, sides=SIDES))
    drawing = definitions.heat_map(T, names, names, sides=SIDES, title="")
    assert (tree.get("width"), tree.get("height")) == (str(drawing.width), str(drawing.height))
    texts = [shape.text for shape in drawing.shapes if isinstance(shape, Text) and shape.text]
    assert [text.text for text in tree.iter("text")] == texts
    assert not any({"fill", "stroke", "style"} & set(element.attrib) for element in tree.iter())
    cells = [group.attrib for group in tree.iter("g")]
    assert len(cells) == (classes**2 if classes <= 30 else classes)
    assert {"data-row": "0", "data-column": "0"} in cells


def test_what_users_named_is_escaped():
    nasty = ["<script>alert(1)</script>", "a & b"]
    for drawn in (
        charts.heat_map(np.eye(2).tolist(), nasty, sides=SIDES),
        charts.curves([charts.Line(nasty[0], [(1, 0.5), (2, 0.6)])], nasty[1]),
    ):
        assert "<script" not in drawn
        assert parsed(drawn).tag == "svg"


def test_curves_carry_a_class_each_and_nothing_is_drawn_of_nothing():
    lines = [charts.Line(f"line {k}", [(1, 0.1 * k), (2, 0.2 * k)]) for k in range(3)]
    drawn = charts.curves(lines, "Loss")
    assert all(f"line line-{k}" in drawn for k in range(3))
    assert 'aria-label="Loss: line 0 0.000, line 1 0.200, line 2 0.400"' in drawn
    assert charts.curves([], "Loss") == charts.curves([charts.Line("none", [])], "Loss") == ""


def test_three_narrow_pictures_fit_side_by_side_with_letters_of_their_own_size():
    several = (members.FORWARD, members.REMEMBERING, members.PAIRS, members.WEIGHTED, members.PRUNED)
    names = ["stage1", *(f"stage2-{member.name}" for member in several)]
    tree = parsed(
        charts.curves([charts.Line(name, [(1, 0.1), (2, 0.2)]) for name in names], "Loss", narrow=True)
    )
    assert int(tree.get("width")) * 3 + 2 * 32 <= 72 * 16 + 100  # scaled down by less than a tenth
    assert tree.get("class") == "curves narrow"
    assert [text.text for text in tree.iter("text")][-6:] == [f"{name} 0.200" for name in names]


def test_the_style_sheet_colours_every_line_that_a_chart_may_have():
    sheet = (Path(charts.__file__).parent / "static/style.css").read_text()
    for place in range(len(curves.PALETTE)):
        assert f".line-{place} {{ stroke: var(--" in sheet
        assert f".dot.line-{place} {{ fill: var(--" in sheet
