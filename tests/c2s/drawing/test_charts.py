"""Charts: whole, escaped, and readable from two classes to a hundred."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest

from c2s.drawing import charts, drawings
from c2s.matrix import noise


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


@pytest.mark.parametrize("hub", [1, 3, 10, 47, 52, 99])
def test_the_class_that_most_arcs_leave_is_named_in_a_crowd(hub):
    T = np.eye(100)
    T[hub] = 0.2 * np.eye(100)[hub] + 0.8 / 8 * np.isin(np.arange(100), np.arange(20, 100, 10))
    found = charts.pair_graph(T / T.sum(axis=1, keepdims=True), [f"c{k}" for k in range(100)], title="pairs")
    assert f"c{hub}" in [shape.text for shape in found.shapes if isinstance(shape, drawings.Text)]


def test_the_two_arcs_of_a_pair_lie_apart():
    T = np.array([[0.6, 0.4, 0.0], [0.2, 0.8, 0.0], [0.0, 0.0, 1.0]])
    lines = [shape for shape in charts.pair_graph(T, "abc", title="pairs").shapes if hasattr(shape, "points")]
    one, other = lines[:12], lines[12:]
    assert len(other) == 12
    assert np.abs(np.subtract(one[6].points[0], other[6].points[0])).max() > 5


def test_the_scale_ends_in_the_ground_of_a_cell_without_mass():
    boxes = [shape for shape in heat(4).shapes if isinstance(shape, drawings.Box)]
    frame, last = boxes[-41], boxes[-1]
    assert frame.mark.kind == "heat-ground"
    assert (last.colour, last.mark.strength) == (charts._shade(0.0), 0.0)
    assert frame.y < last.y
    assert frame.y + frame.height > last.y + last.height


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
    assert (
        marks[0, 1].said
        == f"true {drawings.apart('a')}, given {drawings.apart('b')}: 30.0 % (95 % interval 25.0 to 75.0 %)"
    )
    assert (marks[0, 1].kind, marks[0, 0].kind) == ("heat-wrong", "heat-right")
    assert marks[0, 0].strength > marks[0, 1].strength
