"""Charts: whole, escaped, and readable from two classes to a hundred."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest

from c2s import charts, drawings, noise


def heat(classes, names=None):
    names = names or [f"class {k}" for k in range(classes)]
    return charts.heat_map(noise.symmetric(classes, 0.3), names, names, sides=("true", "given"), title="T")


@pytest.mark.parametrize("classes", [2, 10, 100, 300])
def test_a_heat_map_has_a_cell_for_every_entry_and_names_that_do_not_touch(classes):
    found = heat(classes)
    boxes = [shape for shape in found.shapes if isinstance(shape, drawings.Box)]
    assert len(boxes) >= classes**2
    texts = [shape for shape in found.shapes if isinstance(shape, drawings.Text) and shape.anchor == "end"]
    rows = [shape.y for shape in texts]
    assert min(np.diff(rows)) >= 9
    for box in boxes:
        assert box.x + box.width <= found.width
        assert box.y + box.height <= found.height


def test_numbers_stand_in_cells_that_have_room():
    def numbers(drawing):
        return [shape for shape in drawing.shapes if isinstance(shape, drawings.Text) and shape.text == "70"]

    assert len(numbers(heat(2))) == 2
    assert len(numbers(heat(100))) == 0


@pytest.mark.parametrize("classes", [2, 10, 100])
def test_the_names_of_the_pair_graph_do_not_touch(classes):
    names = [f"class {k}" for k in range(classes)]
    found = charts.pair_graph(noise.pair_flip(classes, 0.3), names, title="pairs")
    for side in ("start", "end"):
        ys = [
            s.y
            for s in found.shapes
            if isinstance(s, drawings.Text) and s.anchor == side and s.text.startswith("class")
        ]
        assert all(abs(gap) >= 12 for gap in np.diff(ys))


def test_what_users_named_is_escaped_in_svg():
    nasty = ['<script>alert("x")</script>', "a & b\x00\n"]
    for drawing in (heat(2, nasty), charts.pair_graph(noise.symmetric(2, 0.3), nasty, title=nasty[0])):
        body = drawings.svg(drawing)
        assert b"<script" not in body
        tree = ET.fromstring(body)  # noqa: S314 - our own bytes
        assert tree.tag.endswith("svg")


def test_shades_darken_with_the_probability():
    shades = [sum(charts._shade(value)) for value in np.linspace(0, 1, 11)]
    assert shades == sorted(shades, reverse=True)
    assert len(set(shades)) == 11


def test_a_cell_tells_its_value_and_interval_to_pages_that_ask():
    ends = np.stack([np.full((2, 2), 0.25), np.full((2, 2), 0.75)], axis=-1)
    names = ["a", "b"]
    found = charts.heat_map(
        noise.symmetric(2, 0.3), names, names, sides=("true", "given"), title="T", interval=ends
    )
    marks = {shape.mark.place: shape.mark for shape in found.shapes if shape.mark and shape.mark.place}
    assert marks[0, 1].said == "true a, given b: 30.0 % (95 % interval 25.0 to 75.0 %)"
    assert (marks[0, 1].kind, marks[0, 0].kind) == ("heat-wrong", "heat-right")
    assert marks[0, 0].strength > marks[0, 1].strength
