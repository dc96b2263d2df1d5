"""Drawings on pages: the library's charts as SVG without colours of its own, and counts as bars.

Colours are classes (`heat-right`, `heat-wrong`, `line-0`, ...) that a style sheet fills in, so that one picture suits
light and dark pages. Every function takes plain numbers and names and returns text that is safe inside HTML.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup, escape

from c2s.drawing import charts
from c2s.drawing import curves as trainings
from c2s.drawing.drawings import Box, Drawing, Text, apart
from c2s.drawing.drawings import Line as Stroke

Matrix = Sequence[Sequence[float]]
Ends = Sequence[Sequence[Sequence[float]]]  # [low, high] for every entry
NAMED = 30  # classes up to which every one is named, and every cell of a matrix is on the page
FAINT = 0.035  # strength: below, a cell of a large matrix is left to the background
LONGEST = 14  # letters of a name on an axis
MARGIN, WIDTH = 110, 560
WIDE, NARROW = (520.0, 280.0), (290.0, 200.0)  # of curves, in pixels


@dataclass(frozen=True)
class Line:
    """A curve: what it is, and its points from left to right."""

    name: str
    points: Sequence[tuple[float, float]]


def short(name: str) -> str:
    """A name that fits an axis."""
    return name if len(name) <= LONGEST else name[: LONGEST - 1] + "…"


def heat_map(
    matrix: Matrix, classes: Sequence[str], interval: Ends | None = None, *, sides: tuple[str, str]
) -> Markup:
    """A transition matrix; `sides` says what its rows and columns are."""
    ends = None if interval is None else np.array(interval)
    drawing = charts.heat_map(np.array(matrix), classes, classes, sides=sides, title="", interval=ends)
    label = f"{sides[0]} classes down, {sides[1]} labels across: {len(classes)} by {len(classes)}"
    faint = FAINT if len(classes) > NAMED else 0.0
    return _page(drawing, "heat", label, focus=True, faint=faint)


def curves(lines: Sequence[Line], label: str, *, across: str = "epoch", narrow: bool = False) -> Markup:
    """Curves over one axis, with a legend that tells the last value of each; three narrow ones fit side by side."""
    told = [line for line in lines if line.points]
    if not told:
        return Markup("")
    series = {line.name: list(line.points) for line in told}
    drawing = trainings.chart(series, title="", across=across, size=NARROW if narrow else WIDE)
    said = ", ".join(f"{line.name} {line.points[-1][1]:.3f}" for line in told)
    return _page(drawing, "curves narrow" if narrow else "curves", f"{label}: {said}")


def _page(drawing: Drawing, kind: str, label: str, *, focus: bool = False, faint: float = 0.0) -> Markup:
    """A drawing by classes instead of colours; its title stands in the page."""
    shown = [
        shape
        for shape in drawing.shapes
        if shape.mark is None or (shape.mark.kind != "title" and not _is_faint(shape, faint))
    ]
    return Markup(
        '<svg class="{kind}" role="img"{more} aria-label="{label}" viewBox="0 0 {w} {h}" width="{w}" height="{h}">'
        "{shapes}</svg>"
    ).format(
        kind=kind,
        more=Markup(' tabindex="0"') if focus else Markup(),
        label=label,
        w=drawing.width,
        h=drawing.height,
        shapes=Markup().join(_shape(shape) for shape in shown),
    )


def _is_faint(shape: Box | Stroke | Text, faint: float) -> bool:
    mark = shape.mark
    return (
        mark is not None
        and mark.place is not None
        and mark.place[0] != mark.place[1]
        and mark.strength < faint
    )


def _shape(shape: Box | Stroke | Text) -> Markup:
    kind = shape.mark.kind if shape.mark else ""
    if isinstance(shape, Box):
        return _box(shape, kind)
    if isinstance(shape, Stroke):
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in shape.points)
        return Markup('<polyline class="{}" points="{}"/>').format(kind, path)
    turn = Markup(' transform="rotate(-90 {x:.1f} {y:.1f})"') if shape.turned else Markup()
    return Markup('<text class="{}" x="{:.1f}" y="{:.1f}" text-anchor="{}"{}>{}</text>').format(
        kind, shape.x, shape.y, shape.anchor, turn.format(x=shape.x, y=shape.y), shape.text
    )


def _box(shape: Box, kind: str) -> Markup:
    strength = shape.mark.strength if shape.mark else 1.0
    drawn = Markup(
        '<rect class="{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" fill-opacity="{:.3f}"/>'
    ).format(kind, shape.x, shape.y, shape.width, shape.height, strength)
    if shape.mark is None or shape.mark.place is None:
        return drawn
    return Markup('<g data-row="{}" data-column="{}"><title>{}</title>{}</g>').format(
        *shape.mark.place, shape.mark.said, drawn
    )


def bars(counts: Sequence[tuple[str, float]], label: str) -> Markup:
    """Counts of classes: named bars, or of many classes thin columns."""
    most = max((count for _, count in counts), default=1) or 1
    if len(counts) > NAMED:
        step = WIDTH / len(counts)
        drawn = [
            Markup(
                '<rect class="bar" x="{:.2f}" y="{:.1f}" width="{:.2f}" height="{:.1f}"><title>{}: {:g}</title></rect>'
            ).format(
                place * step, 120 - 110 * count / most, step * 0.8, 110 * count / most, apart(name), count
            )
            for place, (name, count) in enumerate(counts)
        ]
        height = 120
    else:
        drawn = [_bar(place, name, count, most) for place, (name, count) in enumerate(counts)]
        height = 22 * len(counts) + 4
    return Markup('<svg class="bars" role="img" aria-label="{}" viewBox="0 0 {} {}">{}</svg>').format(
        f"{label}: {len(counts)} classes, {sum(count for _, count in counts):g} in all",
        WIDTH,
        height,
        Markup().join(drawn),
    )


def _bar(place: int, name: str, count: float, most: float) -> Markup:
    y, width = 22 * place + 2, 380 * count / most
    return Markup(
        '<text x="{}" y="{}" text-anchor="end">{}<title>{}</title></text>'
        '<rect class="bar" x="{}" y="{}" width="{:.1f}" height="16"/><text x="{:.1f}" y="{}">{:,g}</text>'
    ).format(
        MARGIN - 6, y + 13, short(name), escape(name), MARGIN, y, width, MARGIN + width + 6, y + 13, count
    )
