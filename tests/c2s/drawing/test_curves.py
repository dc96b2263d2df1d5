"""Curves: of any length, told apart, and with legends that can be read."""

import PIL.ImageFont
import pytest

from c2s import members
from c2s.drawing import curves, drawings

SEVERAL = (members.FORWARD, members.REMEMBERING, members.PAIRS, members.WEIGHTED, members.PRUNED)
AUTO = ["stage1", "transition", *(f"stage2-{member.name}" for member in SEVERAL)]
LARGE = PIL.ImageFont.load_default(16)  # letters of a curve on a narrow page


def legend(drawing):
    """Entries with the places that they fill, in the largest letters that a page gives them."""
    texts = [s for s in drawing.shapes if isinstance(s, drawings.Text) and s.size == 11.0]
    return [(s.text, s.x, s.x + LARGE.getlength(s.text), s.y) for s in texts]


@pytest.mark.parametrize("size", [(520.0, 280.0), (290.0, 200.0)])
@pytest.mark.parametrize("names", [AUTO, ["a", "b", "c"], ["W" * 40 + "1", "W" * 40 + "2"], ["only one"]])
def test_entries_of_a_legend_neither_touch_nor_leave_the_picture(names, size):
    drawing = curves.chart({name: [0.1, 0.912] for name in names}, title="c", size=size)
    entries = legend(drawing)
    assert len(entries) == len(names)
    for place, (text, left, right, y) in enumerate(entries):
        assert right < drawing.width or "W" in text  # of the widest letter a name is all but never made
        assert y < drawing.height
        for _, other_left, other_right, other_y in entries[place + 1 :]:
            assert other_y >= y + 18 or other_left >= right + 8 or other_right <= left


def test_names_in_a_legend_stay_different():
    names = [f"stage2-a-method-with-a-long-name{end}" for end in ("", "-elr", "-elr-again")]
    texts = [text for text, *_ in legend(curves.chart({name: [0.5] for name in names}, title="c"))]
    assert len(set(texts)) == 3


def test_the_trainings_of_auto_differ_in_colour_and_in_the_class_that_a_page_colours_by():
    drawing = curves.chart({name: [0.1, 0.9] for name in AUTO}, title="c")
    lines = [s for s in drawing.shapes if isinstance(s, drawings.Line) and s.width == 2.0]
    assert len({line.colour for line in lines}) == len({line.mark.kind for line in lines}) == len(AUTO)


def test_curves_take_lines_of_any_length_and_values_that_are_none():
    found = curves.chart({"a": [0.1, float("nan"), 0.3], "b": [0.2]}, title="c")
    lines = [shape for shape in found.shapes if isinstance(shape, drawings.Line) and shape.width == 2.0]
    assert [len(line.points) for line in lines] == [2, 1]
    assert curves.chart({}, title="nothing yet").shapes


def test_curves_may_start_anywhere_and_a_single_point_is_a_dot():
    found = curves.chart({"a": [(5, 0.1), (9, 0.3)], "b": [(7, 0.2)]}, title="c")
    assert [shape.text for shape in found.shapes if isinstance(shape, drawings.Text)][-2:] == [
        "a 0.300",
        "b 0.200",
    ]
    dots = [shape for shape in found.shapes if isinstance(shape, drawings.Box)]
    assert [dot.mark.kind for dot in dots] == ["dot line-1"]


def test_an_axis_of_fractions_has_round_places():
    def places(first, last):
        drawing = curves.chart({"a": [(first, 0.1), (last, 0.3)]}, title="c", across="rate")
        texts = [s for s in drawing.shapes if isinstance(s, drawings.Text)]
        ((below, *_),) = [[s.y for s in texts if s.text == "rate"]]
        return [s.text for s in texts if s.y == below - 20]

    assert places(0.2, 0.6) == ["0.2", "0.3", "0.4", "0.5", "0.6"]
    assert places(0, 0.0204) == ["0", "0.005", "0.01", "0.015", "0.02"]
    assert places(1, 12) == ["1", "3", "5", "8", "10", "12"]


@pytest.mark.parametrize(("value", "ends"), [(1.0, ("1", "0")), (0.4, ("1", "0")), (2.5, ("2.5", "0"))])
def test_a_curve_that_never_moves_has_an_axis_that_its_values_can_reach(value, ends):
    shapes = curves.chart({"a": [value] * 3}, title="").shapes
    told = [shape.text for shape in shapes if isinstance(shape, drawings.Text) and shape.anchor == "end"]
    assert (told[0], told[4]) == ends
