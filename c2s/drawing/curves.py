"""Curves over epochs, defined once for pages and pictures, with a legend that never runs over itself.

The palette is Okabe and Ito's, without its yellow, which white swallows, and with a violet.
"""

import math
from collections.abc import Mapping, Sequence

from c2s.drawing.drawings import BLACK, TITLE, Box, Colour, Drawing, Line, Mark, Shape, Text

PALETTE: tuple[Colour, ...] = (
    (0, 114, 178),
    (230, 159, 0),
    (0, 158, 115),
    (204, 121, 167),
    (86, 180, 233),
    (213, 94, 0),
    BLACK,
    (117, 76, 163),
)
GREY: Colour = (205, 205, 205)
LEGEND, KEY = 3, 34  # entries in a row at most, and pixels of the stroke before each
ENTRY, LETTER = (
    26,
    9.6,
)  # letters of a name in a legend; pixels of one where a page is narrow and its letters large


def chart(
    series: Mapping[str, Sequence[float] | Sequence[tuple[float, float]]],
    *,
    title: str,
    across: str = "epoch",
    size: tuple[float, float] = (520.0, 280.0),
) -> Drawing:
    """Lines over epochs, or over what `across` names, between the least and the largest value; a legend below tells
    the last of each."""
    lines = {name: _points(line) for name, line in series.items()}
    xs, ys = ([point[axis] for line in lines.values() for point in line] or [0.0, 1.0] for axis in (0, 1))
    first, last, low, high = min(xs), max(xs), min(ys), max(ys)
    last = last if last > first else first + 1
    if low == high:
        low, high = min(0.0, low), max(1.0, high)  # shares stay between 0 and 1
    left, top, (width, height) = 64.0, 50.0 if title else 22.0, size
    shapes: list[Shape] = [Text(12, 26, title, 15, mark=TITLE)]
    for k in range(5):
        y = top + height * k / 4
        shapes.append(Line(((left, y), (left + width, y)), GREY, mark=Mark("axis")))
        shapes.append(Text(left - 6, y + 4, f"{high - (high - low) * k / 4:.3g}", 10.0, "end"))
    for value in _ticks(first, last):
        x = left + width * (value - first) / (last - first)
        shapes.append(Text(x, top + height + 18, f"{value:.3g}", 10.0, "middle"))
    shapes.append(Text(left + width / 2, top + height + 38, across, 12, "middle"))
    for place, line in enumerate(lines.values()):
        points = tuple(
            (left + width * (at - first) / (last - first), top + height * (high - value) / (high - low))
            for at, value in line
        )
        shapes += _curve(points, place)
    told = [f"{_cut(name)} {line[-1][1]:.3f}" if line else _cut(name) for name, line in lines.items()]
    below, keys = _legend(told, top + height + 60, left + width + 20)
    return Drawing(int(left + width + 20), int(below), title, (*shapes, *keys))


def _ticks(first: float, last: float) -> list[float]:
    """Places of the axis, six about: whole ones where it is long enough, as epochs are, else round ones."""
    if last - first >= 1:
        return sorted({round(first + (last - first) * part / 5) for part in range(6)})
    power = 10.0 ** math.floor(math.log10((last - first) / 5))
    step = power * next(factor for factor in (1, 2, 5, 10) if factor * power * 5.0001 >= last - first)
    numbers = range(math.ceil(first / step - 1e-9), math.floor(last / step + 1e-9) + 1)
    return [number * step for number in numbers]


def _curve(points: tuple[tuple[float, float], ...], place: int) -> list[Shape]:
    """A line; a single point is a dot."""
    colour, style = PALETTE[place % len(PALETTE)], f"line-{place % len(PALETTE)}"
    shown: list[Shape] = [Line(points, colour, 2.0, Mark(f"line {style}"))]
    if len(points) == 1:
        (dot,) = points
        shown.append(Box(dot[0] - 3, dot[1] - 3, 6, 6, colour, Mark(f"dot {style}")))
    return shown


def _legend(entries: Sequence[str], top: float, width: float) -> tuple[float, list[Shape]]:
    """Where the legend ends, and its entries, in as many columns as the longest leaves room for."""
    longest = KEY + LETTER * max((len(entry) for entry in entries), default=0)
    columns = max(1, min(LEGEND, len(entries), int((width - 12) / longest)))
    found: list[Shape] = []
    for place, entry in enumerate(entries):
        x, y = 12 + place % columns * (width - 12) / columns, top + 20 * (place // columns)
        mark = Mark(f"line line-{place % len(PALETTE)}")
        found.append(Line(((x, y - 4), (x + KEY - 6, y - 4)), PALETTE[place % len(PALETTE)], 2.5, mark))
        found.append(Text(x + KEY, y, entry, 11.0))
    return top - 6 + 20 * -(-len(entries) // columns), found


def _cut(name: str) -> str:
    """A name that fits a legend, without its middle: names of trainings differ at their ends."""
    return name if len(name) <= ENTRY else f"{name[: ENTRY // 2]}\u2026{name[1 - ENTRY // 2 :]}"


def _points(line: Sequence[float] | Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Finite points; values alone are of epochs from 1 on."""
    placed = [value if isinstance(value, tuple) else (k + 1.0, value) for k, value in enumerate(line)]
    return [(x, y) for x, y in placed if math.isfinite(y)]
