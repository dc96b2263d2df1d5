"""The charts of a noise report, defined once: heat maps, and which classes are taken for which.

Colours go from light to dark, so that they are told apart without hue and in print. From 2 to some hundred classes
everything stays readable: cells shrink, numbers and then names give way.
"""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from c2s.drawings import BLACK, TITLE, Box, Colour, Drawing, Line, Mark, Shape, Text

Matrix = npt.NDArray[np.float64]
SIDE, LEAST_CELL, MOST_CELL = 640, 7, 84  # pixels of a heat map, and of a cell
NAME, SIGN = 18, 6.4  # signs of a name that are shown, pixels of one
LIGHT, DARK = (255, 255, 255), (8, 48, 107)
SIDES = Mark("side")
EDGES = 60  # of the pair graph: the strongest
CROWD, BESIDE_POLE = 24, 80  # classes from which names near the top and the bottom give way, in pixels


def heat_map(
    matrix: Matrix,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    sides: tuple[str, str],
    title: str,
    interval: Matrix | None = None,
) -> Drawing:
    """A matrix of probabilities; `sides` say what rows and columns are, `interval` (c, c, 2) is told of its cells."""
    count = len(matrix)
    cell = min(MOST_CELL, max(LEAST_CELL, SIDE // count))
    size = 11.0 if cell >= 14 else 9.0
    step = max(1, math.ceil((size + 2) / cell))  # names that do not fit side by side
    left = 46 + SIGN * max(len(_short(name)) for name in rows)
    top = 78 + SIGN * max(len(_short(name)) for name in columns)
    across = count * cell
    shapes: list[Shape] = [Text(12, 26, title, 15, mark=TITLE)]
    shapes.append(Box(left, top, across, across, LIGHT, Mark("heat-ground")))
    for i, j in np.ndindex(matrix.shape):
        x, y, value = left + j * cell, top + i * cell, float(matrix[i, j])
        said = f"{sides[0]} {rows[i]}, {sides[1]} {columns[j]}: {_told(value, interval, i, j)}"
        mark = Mark("heat-right" if i == j else "heat-wrong", _strength(value), said, (i, j))
        shapes.append(Box(x, y, cell - (cell > 12), cell - (cell > 12), _shade(value), mark))
        if cell >= 30:
            ink = LIGHT if value > 0.3 else BLACK
            shapes.append(Text(x + cell / 2, y + cell / 2 + 4, _number(value), 11.0, "middle", colour=ink))
    for k in range(0, count, step):
        shapes.append(Text(left - 6, top + (k + 0.5) * cell + 4, _short(rows[k]), size, "end"))
        shapes.append(Text(left + (k + 0.5) * cell + 4, top - 6, _short(columns[k]), size, turned=True))
    shapes.append(Text(left + across / 2, 48, f"{sides[1]} label", 12, "middle", mark=SIDES))
    shapes.append(Text(22, top + across / 2, f"{sides[0]} label", 12, "middle", turned=True, mark=SIDES))
    shapes += _scale(left + across + 22, top, min(across, 200))
    return Drawing(int(left + across + 90), int(max(top + across, top + 200) + 24), title, tuple(shapes))


def _told(value: float, interval: Matrix | None, i: int, j: int) -> str:
    said = f"{100 * value:.1f} %"
    if interval is None:
        return said
    low, high = interval[i][j]
    return f"{said} (95 % interval {100 * low:.1f} to {100 * high:.1f} %)"


def _scale(x: float, top: float, height: float) -> list[Shape]:
    """What the shades mean."""
    steps = 40
    bars: list[Shape] = [
        Box(
            x,
            top + k * height / steps,
            14,
            height / steps + 0.5,
            _shade(1 - k / (steps - 1)),
            Mark("heat-right", _strength(1 - k / (steps - 1))),
        )
        for k in range(steps)
    ]
    ticks = [
        Text(x + 20, top + (1 - value) * height + 4, f"{_number(value)} %", 10.0) for value in (0.0, 0.5, 1.0)
    ]
    return [*bars, *ticks]


def similarity(T_s: Matrix) -> Drawing:
    """The 2 x 2 matrix of similarity labels."""
    names = ("dissimilar", "similar")
    return heat_map(
        T_s, names, names, sides=("true", "given"), title="Similarity labels: P(given | true) in %"
    )


def pair_graph(matrix: Matrix, classes: Sequence[str], *, title: str) -> Drawing:
    """Which true class is given which label: arcs on a circle, thick and dark where often; thin end at the label."""
    count = len(classes)
    radius = 220.0 if count <= 40 else 290.0
    middle = (radius + 40 + SIGN * max(len(_short(name)) for name in classes), radius + 80)
    places = [
        (middle[0] + radius * math.cos(angle), middle[1] + radius * math.sin(angle))
        for angle in (2 * math.pi * k / count - math.pi / 2 for k in range(count))
    ]
    off = matrix * (1 - np.eye(count))
    order = [divmod(int(flat), count) for flat in np.argsort(-off, axis=None, kind="stable")[:EDGES]]
    found = [(i, j, float(off[i, j])) for i, j in order if off[i, j] > 0.01]
    shapes: list[Shape] = [Text(12, 26, title, 15, mark=TITLE)]
    for i, j, value in reversed(found):  # the strongest on top
        shapes += _arc(places[i], places[j], middle, value)
    shapes += [Box(x - 3, y - 3, 6, 6, BLACK) for x, y in places]
    shapes += _names(places, middle, classes)
    bottom = middle[1] + radius + 50
    shapes.append(Text(12, bottom, "from the true class (thick) to the label it is given (thin)", 11.0))
    return Drawing(int(2 * middle[0]), int(bottom + 14), title, tuple(shapes))


def _names(
    places: Sequence[tuple[float, float]], middle: tuple[float, float], classes: Sequence[str]
) -> list[Shape]:
    """Names beside their places; one that would touch the name before it is left out."""
    shown: dict[str, float] = {}
    found: list[Shape] = []
    for (x, y), name in zip(places, classes, strict=True):
        text = _beside(x, y, middle, _short(name))
        if len(classes) > CROWD and text.anchor != "middle" and abs(x - middle[0]) < BESIDE_POLE:
            continue  # it would run over its neighbours, which stand at the same height
        if abs(shown.get(text.anchor, -math.inf) - text.y) >= 12 or text.anchor not in shown:
            shown[text.anchor] = text.y
            found.append(text)
    return found


def _arc(
    start: tuple[float, float], end: tuple[float, float], pull: tuple[float, float], value: float
) -> list[Shape]:
    """A bow towards the middle in pieces that grow thinner."""
    control = tuple((a + b) / 2 * 0.45 + c * 0.55 for a, b, c in zip(start, end, pull, strict=True))
    steps = np.linspace(0, 1, 13)
    points = [
        tuple(
            (1 - t) ** 2 * a + 2 * t * (1 - t) * c + t**2 * b
            for a, b, c in zip(start, end, control, strict=True)
        )
        for t in steps
    ]
    colour = _shade(0.25 + 0.75 * min(1.0, value * 2))
    thick = 1.0 + 9.0 * min(0.6, value)
    return [Line((points[k], points[k + 1]), colour, max(0.6, thick * (1 - 0.8 * k / 12))) for k in range(12)]


def _beside(x: float, y: float, middle: tuple[float, float], name: str) -> Text:
    gap = x - middle[0]
    if abs(gap) < 4:
        return Text(x, y + (20 if y > middle[1] else -10), name, 11.0, "middle")
    return Text(x + (9 if gap > 0 else -9), y + 4, name, 11.0, "start" if gap > 0 else "end")


def _strength(value: float) -> float:
    """Of a colour on a page; small values are lifted, as the noise is in them."""
    return 0.85 * float(max(0.0, min(1.0, value)) ** 0.6)


def _shade(value: float) -> Colour:
    """Light for 0, dark for 1; small values are lifted, as the noise is in them."""
    part = max(0.0, min(1.0, value)) ** 0.6
    red, green, blue = (round(a + (b - a) * part) for a, b in zip(LIGHT, DARK, strict=True))
    return red, green, blue


def _number(value: float) -> str:
    return f"{100 * value:.0f}"


def _short(name: str) -> str:
    return name if len(name) <= NAME else name[: NAME - 1] + "\u2026"
